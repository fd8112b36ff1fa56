// Small, a picture says less: a box only its name, an arrow nothing, and the gaps are closed.

const NAME_PX = 11.5; // the smallest that is easy to read
const NAME_MAX = 23; // in the picture's own units: the title of a frame has no more room
const LEAF_MAX = 34; // a name inside a box is made to fit it anyway
const ROOM_MIN = 0.7; // one that would be smaller than this beside the others goes above its box
const NAME_MIN = 13; // as large as it was drawn

export function arrange(place, svg) {
  const fit = place.classList.contains("fit");
  const scale = svg.getScreenCTM()?.a || 1;
  const wanted = Math.max(NAME_PX / scale, NAME_MIN);
  for (const name of svg.querySelectorAll(".state > .name")) {
    const leaf = name.parentNode.querySelector(":scope > .leaf");
    const size = Math.min(wanted, leaf ? LEAF_MAX : NAME_MAX);
    name.dataset.y ??= name.getAttribute("y");
    name.style.fontSize = fit ? `${size.toFixed(1)}px` : "";
    name.setAttribute("y", name.dataset.y);
    if (!fit || !leaf) continue;
    const box = leaf.getBBox();
    const long = name.getComputedTextLength();
    const room = Math.min((box.width - 8) / long, (box.height - 6) / size, 1);
    if (room < ROOM_MIN && isFree(svg, leaf, { x: box.x + (box.width - long) / 2, y: box.y - size, width: long, height: size })) {
      name.setAttribute("y", box.y - size * 0.25); // as large as the others, above its box
      continue;
    }
    name.style.fontSize = `${(size * room).toFixed(1)}px`;
    name.setAttribute("y", box.y + box.height / 2 + size * room * 0.35);
  }
  bridge(svg);
}

function isFree(svg, own, place) {
  const meets = (box) => box.x < place.x + place.width && place.x < box.x + box.width && box.y < place.y + place.height && place.y < box.y + box.height;
  return ![...svg.querySelectorAll(".leaf")].some((one) => one !== own && meets(one.getBBox()));
}

// Where a label interrupts an arrow, a line in its place; shown while the labels are not.
function bridge(svg) {
  if (svg.dataset.bridged) return;
  svg.dataset.bridged = "yes";
  for (const row of svg.querySelectorAll("g.row[data-target]")) {
    const legs = [...row.querySelectorAll(":scope > .line")];
    for (let n = 1; n < legs.length; n++) {
      const from = legs[n - 1].getPointAtLength(legs[n - 1].getTotalLength());
      const to = legs[n].getPointAtLength(0);
      const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
      path.setAttribute("class", "line bridge");
      path.setAttribute("d", way(legs[n - 1], from, to));
      row.insertBefore(path, legs[n]);
    }
  }
}

// Straight on in the direction the line comes from, then across.
function way(leg, from, to) {
  const before = leg.getPointAtLength(Math.max(leg.getTotalLength() - 2, 0));
  const upright = Math.abs(from.y - before.y) > Math.abs(from.x - before.x);
  if (upright) return `M${from.x} ${from.y}V${(from.y + to.y) / 2}H${to.x}V${to.y}`;
  return `M${from.x} ${from.y}H${(from.x + to.x) / 2}V${to.y}H${to.x}`;
}
