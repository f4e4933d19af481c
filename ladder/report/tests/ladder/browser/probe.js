// Says what a reader would see: lines of a word and a value, sent to the frame around the report.
addEventListener('load', () => {
  const lines = [];
  const say = (word, value) => lines.push(`${word} ${value}`.trim().replace(/[<>&\n]/g, ' '));
  const page = document.documentElement;
  const width = page.clientWidth;
  say('width', width);
  say('scroll', page.scrollWidth);

  // Text beyond the right edge.
  for (const element of document.querySelectorAll('body *')) {
    const box = element.getBoundingClientRect();
    const isText = !element.childElementCount && element.textContent.trim() !== '';
    if (isText && box.width > 0 && (box.right > width + 0.5 || box.left < -0.5)) {
      say('over', `${element.tagName} ${element.textContent}`);
    }
  }
  // Text in a cell that is too narrow for it.
  for (const cell of document.querySelectorAll('td, th')) {
    if (cell.scrollWidth > cell.clientWidth + 1 && cell.getBoundingClientRect().width > 0) {
      say('cut', `${cell.tagName} ${cell.textContent}`);
    }
  }
  // Text in a picture: inside it, and no two on each other.
  for (const svg of document.querySelectorAll('svg')) {
    const frame = svg.getBoundingClientRect();
    const texts = [...svg.querySelectorAll('text')].filter((t) => t.getBoundingClientRect().width);
    const boxes = texts.map((text) => text.getBoundingClientRect());
    boxes.forEach((box, place) => {
      const text = texts[place].textContent;
      if (box.left < frame.left - 2 || box.right > frame.right + 2) say('cut', text);
      if (box.top < frame.top - 2 || box.bottom > frame.bottom + 2) say('cut', text);
      boxes.slice(place + 1).forEach((other, after) => {
        const wide = Math.min(box.right, other.right) - Math.max(box.left, other.left);
        const high = Math.min(box.bottom, other.bottom) - Math.max(box.top, other.top);
        // Boxes of letters are higher than the letters.
        if (wide > 1 && high > 4) say('overlap', `${text} | ${texts[place + 1 + after].textContent}`);
      });
    });
  }
  // What the pictures hold.
  for (const section of document.querySelectorAll('section')) {
    const bars = [...section.querySelectorAll('rect')].filter((bar) => {
      const box = bar.getBoundingClientRect();
      return box.width > 1 && box.height > 1 && getComputedStyle(bar).fill !== 'none';
    });
    say(`bars-${section.id}`, bars.length);
    say(`rows-${section.id}`, section.querySelectorAll('tbody tr').length);
  }
  const curves = [...document.querySelectorAll('polyline')];
  say('curves', curves.filter((curve) => curve.getBoundingClientRect().width > 20).length);

  // Text against its ground.
  const luminance = (colour) => {
    const linear = colour.match(/[\d.]+/g).slice(0, 3).map((channel) => {
      const value = channel / 255;
      return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
  };
  const style = getComputedStyle(document.body);
  const [ink, paper] = [luminance(style.color), luminance(style.backgroundColor)];
  say('contrast', (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05));
  say('dark', paper < ink ? 1 : 0);
  say('done', '');
  parent.postMessage(lines.join('\n'), '*');
});
