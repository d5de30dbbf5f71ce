// Outcomes over time; the colours are those of the page, read from its style.

const HALF_DAY = 43_200;
const box = document.getElementById("chart");

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

const series = (label, name, dash) => ({ label, stroke: colour(name), width: 2, dash, points: { show: true, size: 5 } });

const draw = (columns) => {
  const axis = { stroke: colour("--quiet"), grid: { stroke: colour("--line"), width: 1 }, ticks: { stroke: colour("--line") } };
  const options = {
    width: box.clientWidth,
    height: 240,
    series: [{}, series("Success", "--good"), series("Failure", "--bad", [6, 4]), series("Other", "--quiet", [2, 3])],
    axes: [axis, { ...axis, incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000] }],
    scales: { x: { range: () => [columns[0][0] - HALF_DAY, columns[0].at(-1) + HALF_DAY] }, y: { range: (_plot, _low, high) => [0, Math.max(1, high)] } },
  };
  return new uPlot(options, columns, box);
};

if (box !== null) {
  const plot = draw(JSON.parse(box.dataset.columns));
  addEventListener("resize", () => plot.setSize({ width: box.clientWidth, height: 240 }));
}
