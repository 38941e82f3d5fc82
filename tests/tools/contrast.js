const light = ([r, g, b]) => [r, g, b].map(c => c / 255).map(
  c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4
).reduce((sum, c, k) => sum + c * [0.2126, 0.7152, 0.0722][k], 0);
// Any CSS colour, also one of hsla(), as red, green, blue and alpha.
const canvas = Object.assign(document.createElement("canvas"), {width: 1, height: 1});
const drawing = canvas.getContext("2d", {willReadFrequently: true});
const colour = text => {
  drawing.clearRect(0, 0, 1, 1); drawing.fillStyle = text; drawing.fillRect(0, 0, 1, 1);
  const [r, g, b, a] = drawing.getImageData(0, 0, 1, 1).data; return [r, g, b, a / 255];
};
const over = ([r, g, b, a], under) => [r, g, b].map((c, k) => a * c + (1 - a) * under[k]);
const behind = element => {
  const own = colour(getComputedStyle(element).backgroundColor), up = element.parentElement;
  return own[3] == 1 ? own.slice(0, 3) : over(own, up ? behind(up) : [255, 255, 255]);
};
const contrast = element => {
  const paper = behind(element), ink = over(colour(getComputedStyle(element).color), paper);
  const [a, b] = [light(ink), light(paper)];
  return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
};
