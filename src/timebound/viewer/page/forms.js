// Dialogs: an algorithm and its parameters, as the registry describes them; and the list of keys.

import { iconButton, make } from "./dom.js";

// A spec such as tb-wa*:weight=3 of what a form holds; parameters that have their default are left out.
export function specOf(algorithm, values) {
  const given = algorithm.parameters
    .filter((one) => values[one.name] !== undefined && String(values[one.name]) !== String(one.default))
    .map((one) => `${one.name}=${values[one.name]}`);
  return given.length ? `${algorithm.name}:${given.join(",")}` : algorithm.name;
}

export function briefSpec(lane, algorithms) {
  const algorithm = algorithms.find((one) => one.name === lane.name);
  return algorithm ? specOf(algorithm, lane.parameters) : lane.spec;
}

function field(parameter, value) {
  const label = { "aria-label": parameter.name, name: parameter.name, "data-parameter": parameter.name };
  const shown = value ?? parameter.default;
  if (parameter.kind === "bool") return make("input", { type: "checkbox", checked: Boolean(shown), ...label });
  if (parameter.choices && parameter.choices.length) {
    return make("select", label, parameter.choices.map((one) => make("option", { value: one, text: one, selected: String(one) === String(shown) })));
  }
  // A number may be written as the command line takes it; what is wrong with it the server says.
  return make("input", { type: "text", inputmode: "decimal", autocomplete: "off", spellcheck: "false", value: String(shown), ...label });
}

function valueOf(input) {
  return input.type === "checkbox" ? String(input.checked) : input.value.trim();
}

export function openDialog(root, title, ...content) {
  const dialog = make("dialog", { class: "tbv-dialog", "aria-label": title });
  const close = iconButton("close", "Close", "Esc", () => dialog.close());
  dialog.append(make("header", {}, make("h2", { text: title }), close), ...content);
  dialog.addEventListener("close", () => dialog.remove());
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) dialog.close();
  });
  root.append(dialog);
  dialog.showModal();
  return dialog;
}

// Choose an algorithm and its parameters; `done` gets the spec, `remove` takes the lane away.
export function laneDialog(root, algorithms, lane, { done, remove }) {
  const parameters = make("div", { class: "tbv-parameters" });
  const summary = make("p", { class: "tbv-faint" });
  const inputs = new Map();
  const groups = [
    ["Real-time", algorithms.filter((one) => one.real_time)],
    ["Complete, for reference", algorithms.filter((one) => !one.real_time)],
  ].filter(([, members]) => members.length);
  const select = make(
    "select",
    { "aria-label": "Algorithm", name: "algorithm", autofocus: true },
    groups.map(([name, members]) =>
      make("optgroup", { label: name }, members.map((one) => make("option", { value: one.name, text: one.name, selected: lane && one.name === lane.name }))),
    ),
  );
  const chosen = () => algorithms.find((one) => one.name === select.value);
  const show = () => {
    const algorithm = chosen();
    summary.textContent = `${algorithm.summary}. ${algorithm.paper}`;
    inputs.clear();
    const rows = algorithm.parameters.map((one) => {
      const input = field(one, lane && lane.name === algorithm.name ? lane.parameters[one.name] : undefined);
      inputs.set(one.name, input);
      return make("label", {}, make("span", { text: one.name }), input, make("small", { text: one.help }));
    });
    parameters.replaceChildren(...(rows.length ? rows : [make("p", { class: "tbv-faint", text: "It has no parameters." })]));
  };
  select.addEventListener("change", show);
  const form = make(
    "form",
    { method: "dialog" },
    make("label", {}, make("span", { text: "algorithm" }), select),
    summary,
    parameters,
    make(
      "footer",
      {},
      remove ? make("button", { type: "button", class: "tbv-text", text: "Remove lane", on: { click: () => { dialog.close(); remove(); } } }) : null,
      make("span", { class: "tbv-space" }),
      make("button", { type: "submit", class: "tbv-primary", text: lane ? "Apply" : "Add lane" }),
    ),
  );
  form.addEventListener("submit", () => {
    const values = Object.fromEntries([...inputs].map(([name, input]) => [name, valueOf(input)]));
    done(specOf(chosen(), values));
  });
  const dialog = openDialog(root, lane ? "Change the algorithm" : "Add an algorithm", form);
  show();
  return dialog;
}

export function keysDialog(root, keys) {
  const rows = keys.map(([key, what]) =>
    make("div", {}, make("dt", {}, key.split(" ").map((one) => make("kbd", { text: one }))), make("dd", { text: what })),
  );
  return openDialog(root, "Keys", make("dl", { class: "tbv-keys" }, rows));
}
