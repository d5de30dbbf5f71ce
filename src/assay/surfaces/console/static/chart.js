// Outcomes by day in UTC; the colours are those of the page, read from its style.

const DAY = 86_400;
const box = document.getElementById("chart");

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

const series = (label, name, dash) => {
  const tone = colour(name);
  return { label, stroke: tone, width: 2, dash, points: { show: true, size: 8, fill: tone } };
};

const days = (_plot, splits) => splits.map((at) => new Date(at * 1000).toISOString().slice(0, 10));

const draw = (columns) => {
  const axis = { stroke: colour("--quiet"), grid: { stroke: colour("--line"), width: 1 }, ticks: { stroke: colour("--line") } };
  const options = {
    width: box.clientWidth - 24,
    height: 240,
    tzDate: (at) => uPlot.tzDate(new Date(at * 1000), "Etc/UTC"),
    legend: { live: false },
    cursor: { show: false },
    series: [{}, series("Success", "--good"), series("Failure", "--bad", [6, 4]), series("Other", "--quiet", [2, 3])],
    axes: [
      { ...axis, incrs: [1, 7, 30, 90, 365].map((count) => count * DAY), space: 90, values: days },
      { ...axis, incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000] },
    ],
    scales: {
      x: { range: () => [columns[0][0] - 0.75 * DAY, columns[0].at(-1) + 0.75 * DAY] },
      y: { range: (_plot, _low, high) => [0, Math.max(1, high) * 1.1] },
    },
  };
  return new uPlot(options, columns, box);
};

if (box !== null) {
  const plot = draw(JSON.parse(box.dataset.columns));
  addEventListener("resize", () => plot.setSize({ width: box.clientWidth - 24, height: 240 }));
}
