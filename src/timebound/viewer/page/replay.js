// A recording: messages as they would have come over the line, packed into the page itself.

import { mount } from "./app.js";

// Messages are: u32 0 for text or 1 for bytes, u32 length, and so many bytes, up to a multiple of four.
async function unpacked(text) {
  const packed = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  const buffer = await new Response(stream).arrayBuffer();
  const view = new DataView(buffer);
  const messages = [];
  for (let at = 0; at < buffer.byteLength; ) {
    const length = view.getUint32(at + 4, true);
    const body = buffer.slice(at + 8, at + 8 + length);
    messages.push(view.getUint32(at, true) === 0 ? new TextDecoder().decode(body) : body);
    at += 8 + ((length + 3) & ~3);
  }
  return messages;
}

export async function replay(root, text, options = {}) {
  let hear = null;
  const line = { live: false, send() {}, listen(listener) { hear = listener; } };
  // A file is as large as it is: all of it can be kept.
  const app = mount(root, line, { limit: Infinity, ...options });
  for (const message of await unpacked(text)) hear(message);
  app.goTo(0);
  if (!matchMedia("(prefers-reduced-motion: reduce)").matches) app.togglePlay();
  return app;
}
