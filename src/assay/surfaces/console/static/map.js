// Keys on a map: land from a file of ours, cells as the node gives them. The list below the map says the same.

const SVG = "http://www.w3.org/2000/svg";
const svg = document.getElementById("map");
const told = document.getElementById("map-told");
const TONES = {
  VERIFIED_TRUE: "good",
  LEANING_TRUE: "good",
  VERIFIED_FALSE: "bad",
  LEANING_FALSE: "bad",
  UNDECIDED: "warn",
  INCONCLUSIVE: "warn",
  PENDING_HUMAN_REVIEW: "hold",
};
// A cell smaller than this is marked by a dot too, or nobody would see it.
const SMALL = 6;

const load = async (address) => (await fetch(address, { cache: "no-store" })).json();

const shape = (name, attributes) => {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
};

// Rings as the node writes them run the way of RFC 7946; on a sphere this library wants the other.
const turned = (feature) => ({
  ...feature,
  geometry: { ...feature.geometry, coordinates: feature.geometry.coordinates.map((ring) => ring.toReversed()) },
});

const link = (feature, path) => {
  const { id, properties } = feature;
  const found = shape("a", { href: svg.dataset.state + encodeURIComponent(id), class: TONES[properties.status] ?? "dim", tabindex: "-1" });
  const title = shape("title", {});
  title.textContent = `${id}: ${properties.status}`;
  found.append(title, shape("path", { d: path(feature) ?? "" }));
  const [[left, top], [right, bottom]] = path.bounds(feature);
  if (right - left < SMALL) found.append(shape("circle", { cx: (left + right) / 2, cy: (top + bottom) / 2, r: SMALL }));
  return found;
};

const draw = async () => {
  const [world, cells] = await Promise.all([load(svg.dataset.land), load(svg.dataset.cells)]);
  const features = cells.features.map(turned);
  const path = d3.geoPath(d3.geoNaturalEarth1().fitSize([960, 440], { type: "Sphere" }));
  const land = topojson.feature(world, world.objects.land);
  svg.replaceChildren(
    shape("path", { class: "sea", d: path({ type: "Sphere" }) }),
    shape("path", { class: "land", d: path(land) }),
    ...features.map((feature) => link(feature, path)),
  );
  told.textContent = features.length ? `${features.length} ${features.length === 1 ? "key" : "keys"} on the map; the list says the same.` : "No key has a place; the list has the others.";
};

if (svg !== null) draw();
