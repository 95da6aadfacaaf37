// Elements without markup: nothing that comes over the wire is ever parsed as HTML.

const SVG = "http://www.w3.org/2000/svg";

// An element. Of its attributes, `on` holds listeners, `text` its text; false and null leave an attribute out.
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "on") {
      for (const [event, listener] of Object.entries(value)) element.addEventListener(event, listener);
    } else if (name === "text") {
      element.textContent = value;
    } else if (value !== false && value !== null && value !== undefined) {
      element.setAttribute(name, value === true ? "" : value);
    }
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

const ICONS = {
  play: "M8 5.2v13.6c0 .8.9 1.3 1.6.8l10-6.8c.6-.4.6-1.2 0-1.6l-10-6.8C8.9 3.9 8 4.4 8 5.2z",
  pause: "M7 4.5h3.2v15H7zM13.8 4.5H17v15h-3.2z",
  step: "M6 5.2v13.6c0 .8.9 1.3 1.6.8l8-6.8c.5-.4.5-1.2 0-1.6l-8-6.8C6.9 3.9 6 4.4 6 5.2zM17.4 4.6h2.2v14.8h-2.2z",
  restart: "M12 4.2a7.8 7.8 0 1 1-7.5 9.9l2.1-.6A5.6 5.6 0 1 0 8 8.1l2.6 2.6H3.8V3.9l2.6 2.6A7.8 7.8 0 0 1 12 4.2z",
  hand: "M12 2.6l3.2 3.7h-2.1v4.6h4.6V8.8l3.7 3.2-3.7 3.2v-2.1h-4.6v4.6h2.1L12 21.4l-3.2-3.7h2.1v-4.6H6.3v2.1L2.6 12l3.7-3.2v2.1h4.6V6.3H8.8z",
  wall: "M3.5 5h8v4h-8zM12.5 5h8v4h-8zM3.5 10h4v4h-4zM8.5 10h7v4h-7zM16.5 10h4v4h-4zM3.5 15h8v4h-8zM12.5 15h8v4h-8z",
  erase: "M14.6 4.3l5.1 5.1c.7.7.7 1.8 0 2.5L13 18.6h7.4v1.9H8.2l-4.1-4.1c-.7-.7-.7-1.8 0-2.5l8-9.6c.7-.7 1.8-.7 2.5 0zM9 18.6h1.2l2.3-2.3-4.9-4.9-2.1 3.6z",
  mud: "M4 8.5c1.8-1.6 3.5-1.6 5.3 0s3.5 1.6 5.3 0 3.5-1.6 5.4 0v2.6c-1.9-1.6-3.6-1.6-5.4 0s-3.5 1.6-5.3 0-3.5-1.6-5.3 0zM4 14.3c1.8-1.6 3.5-1.6 5.3 0s3.5 1.6 5.3 0 3.5-1.6 5.4 0v2.6c-1.9-1.6-3.6-1.6-5.4 0s-3.5 1.6-5.3 0-3.5-1.6-5.3 0z",
  start: "M12 4a8 8 0 1 1 0 16 8 8 0 0 1 0-16zm0 3a5 5 0 1 0 0 10 5 5 0 0 0 0-10z",
  goal: "M6 3h2v1h10.2c.7 0 1.1.8.7 1.4L16.8 9l2.1 3.6c.4.6 0 1.4-.7 1.4H8v7H6z",
  plus: "M10.9 4.5h2.2v6.4h6.4v2.2h-6.4v6.4h-2.2v-6.4H4.5v-2.2h6.4z",
  minus: "M4.5 10.9h15v2.2h-15z",
  fit: "M4 4h6v2.2H6.2V10H4zM14 4h6v6h-2.2V6.2H14zM4 14h2.2v3.8H10V20H4zM17.8 14H20v6h-6v-2.2h3.8z",
  close: "M6.3 4.9L12 10.6l5.7-5.7 1.4 1.4L13.4 12l5.7 5.7-1.4 1.4L12 13.4l-5.7 5.7-1.4-1.4 5.7-5.7-5.7-5.7z",
  edit: "M16.4 3.9c.7-.7 1.7-.7 2.4 0l1.3 1.3c.7.7.7 1.7 0 2.4L8.6 19.1l-4.9 1.2 1.2-4.9zm.6 2L15.800 7.100l1.100 1.100 1.200-1.200z",
  layers: "M12 3.400l9.200 4.900L12 13.200 2.800 8.300zM5.100 11.300L12 15l6.900-3.700 2.300 1.200L12 17.400l-9.200-4.900zM5.100 15.300L12 19l6.900-3.700 2.300 1.200L12 21.400l-9.200-4.900z",
  theme: "M12 3a9 9 0 1 1 0 18 9 9 0 0 1 0-18zm0 2.100v13.800a6.900 6.900 0 0 0 0-13.800z",
  help: "M12 2.800a9.200 9.200 0 1 1 0 18.400 9.200 9.200 0 0 1 0-18.400zm0 2a7.200 7.200 0 1 0 0 14.400 7.200 7.200 0 0 0 0-14.400zm-1 9.900h2.100v2.100H11zM12 7c2 0 3.500 1.300 3.500 3.100 0 1.300-.7 2-1.500 2.600-.7.500-.9.700-.9 1.100H11c0-1.500.8-2.200 1.500-2.700.6-.5.900-.700.900-1.100 0-.6-.6-1.100-1.400-1.100s-1.400.5-1.500 1.300H8.400C8.500 8.300 10 7 12 7z",
  live: "M12 6.500a5.500 5.500 0 1 1 0 11 5.500 5.500 0 0 1 0-11z",
};

export function icon(name) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("aria-hidden", "true");
  svg.setAttribute("class", "tbv-icon");
  const path = document.createElementNS(SVG, "path");
  path.setAttribute("d", ICONS[name]);
  svg.append(path);
  return svg;
}

export function setIcon(button, name) {
  button.querySelector("path").setAttribute("d", ICONS[name]);
}

// A button with an icon; `label` is what it does, `key` the shortcut that does the same.
export function iconButton(name, label, key, act, attributes = {}) {
  return make(
    "button",
    { type: "button", class: "tbv-button", "aria-label": label, title: key ? `${label} (${key})` : label, on: { click: act }, ...attributes },
    icon(name),
  );
}

// Numbers for people: short, and always the same width of thought.
export function short(value, digits = 3) {
  if (!Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  if (size >= 1e6) return `${(value / 1e6).toPrecision(3)}M`;
  if (size >= 1e5) return `${Math.round(value / 1e3)}k`;
  if (Number.isInteger(value)) return value.toLocaleString("en");
  if (size >= 1000) return Math.round(value).toLocaleString("en");
  return String(Number(value.toPrecision(digits)));
}
