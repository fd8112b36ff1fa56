// Steps through a path of a chart and lights its states.  Without scripts the picture stands alone.
for (const player of document.querySelectorAll(".chart-player")) {
  const scenes = JSON.parse(player.querySelector("script").textContent);
  const picture = player.querySelector("svg");
  const make = (name, text, parent) => {
    const made = document.createElement(name);
    made.textContent = text;
    parent.append(made);
    return made;
  };
  const controls = document.createElement("div");
  controls.className = "controls";
  player.prepend(controls);
  const choice = make("select", "", controls);
  choice.ariaLabel = "path";
  for (const scene of scenes) make("option", scene.name, choice);
  const back = make("button", "Back", controls);
  const next = make("button", "Step", controls);
  const said = make("div", "", controls);
  said.className = "said";
  said.setAttribute("aria-live", "polite");
  let at = 0;

  const show = () => {
    const { begin, steps } = scenes[choice.selectedIndex];
    const step = at ? steps[at - 1] : null;
    const state = step ? step.state : begin;
    for (const lit of picture.querySelectorAll(".lit")) lit.classList.remove("lit");
    picture.querySelector(`#state-${CSS.escape(state)}`)?.classList.add("lit");
    if (step && step.row !== null) {
      for (const row of picture.querySelectorAll(".row")) {
        if ((row.dataset.rows ?? "").split(" ").includes(String(step.row))) row.classList.add("lit");
      }
    }
    const cause = step && step.event ? `${step.event}${step.guard ? ` [${step.guard}]` : ""} → ` : "";
    said.textContent = `${at} of ${steps.length}: ${cause}${state}`;
    back.disabled = at === 0;
    next.disabled = at === steps.length;
    player.dataset.state = state;
  };
  back.addEventListener("click", () => { at -= 1; show(); });
  next.addEventListener("click", () => { at += 1; show(); });
  choice.addEventListener("change", () => { at = 0; show(); });
  picture.addEventListener("click", (event) => {
    const state = event.target.closest(".state");
    if (state) location.hash = `about-${state.id.slice("state-".length)}`;
  });
  show();
}
