// The viewer in a notebook: the same page in a cell, which speaks over the notebook's own channel (anywidget).

import { mount } from "./app.js";

const PULSE = 30; // milliseconds: a notebook's kernel acts only when it is spoken to

export function render({ model, el }) {
  const root = document.createElement("div");
  root.style.height = `${model.get("height")}px`;
  root.tabIndex = -1;
  el.append(root);
  const line = {
    live: true,
    send: (message) => model.send(message),
    listen: (hear) => {
      model.on("msg:custom", (message, buffers) => {
        if (message.text !== undefined) hear(message.text);
        for (const one of buffers || []) hear(one.buffer ? one.buffer.slice(one.byteOffset, one.byteOffset + one.byteLength) : one);
      });
    },
  };
  const app = mount(root, line, { keysOf: root });
  line.send({ do: "greet" });
  const pulse = setInterval(() => {
    if (app.playing && app.pastStop < 0 && !document.hidden) line.send({ do: "turn" });
  }, PULSE);
  return () => clearInterval(pulse);
}
