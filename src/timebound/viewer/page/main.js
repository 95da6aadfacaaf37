// The page of the server: a socket beside it, which is opened again when it breaks.

import { mount } from "./app.js";

class SocketLine {
  constructor() {
    this.live = true;
    this.wait = 300;
  }

  listen(hear) {
    this.hear = hear;
    this.connect();
  }

  connect() {
    const address = new URL("socket", location.href);
    address.protocol = "ws:";
    address.hash = "";
    // The tab's name leads a reloaded page back to its race.
    const tab = sessionStorage.getItem("timebound.tab");
    address.search = tab ? `?tab=${encodeURIComponent(tab)}` : "";
    const socket = new WebSocket(address);
    this.socket = socket;
    socket.binaryType = "arraybuffer";
    socket.addEventListener("message", (event) => {
      this.wait = 300;
      if (typeof event.data === "string") {
        const message = JSON.parse(event.data);
        if (message.is === "tab") {
          sessionStorage.setItem("timebound.tab", message.name);
          return;
        }
      }
      this.hear(event.data);
    });
    socket.addEventListener("close", (event) => {
      if (event.code === 4001) {
        this.hear(JSON.stringify({ is: "lost", text: "too many tabs: close one, then reload this page" }));
        return;
      }
      this.hear(JSON.stringify({ is: "lost", text: "no connection: is timebound still running?" }));
      setTimeout(() => this.connect(), this.wait);
      this.wait = Math.min(this.wait * 1.6, 5000);
    });
  }

  send(message) {
    if (this.socket.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(message));
  }
}

globalThis.timebound = mount(document.getElementById("timebound"), new SocketLine());
