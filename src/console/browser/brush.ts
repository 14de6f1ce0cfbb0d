/** How far the pointer has to move before a click becomes a selection, in pixels. */
const MIN_DRAG = 5;

/**
 * Lets a span be selected on the timeline by dragging over it. A click still follows the link of a
 * bar.
 */
export function startBrush(): void {
  const chart = document.querySelector<SVGSVGElement>('[data-brush]');
  if (!chart) return;
  const [start = 0, step = 1, bars = 1] = (chart.dataset.brush ?? '').split(' ').map(Number);
  const area = chart.querySelector('[data-selection]');
  let from: number | null = null;
  let isDragged = false;
  const place = ({ clientX }: MouseEvent) => {
    const { left, width } = chart.getBoundingClientRect();
    return Math.min(Math.max((clientX - left) / width, 0), 1);
  };
  const end = () => {
    from = null;
    area?.setAttribute('width', '0');
  };

  chart.addEventListener('dragstart', (event) => event.preventDefault());
  chart.addEventListener('pointerdown', (event) => {
    if (event.button !== 0) return;
    from = place(event);
    isDragged = false;
  });
  chart.addEventListener('pointermove', (event) => {
    if (from === null) return;
    const to = place(event);
    if (!isDragged && Math.abs(to - from) * chart.clientWidth < MIN_DRAG) return;
    if (!isDragged) chart.setPointerCapture(event.pointerId);
    isDragged = true;
    area?.setAttribute('x', `${Math.min(from, to) * 100}%`);
    area?.setAttribute('width', `${Math.abs(to - from) * 100}%`);
  });
  chart.addEventListener('pointerup', (event) => {
    if (from !== null && isDragged) {
      const ends = [from, place(event)].sort((a, b) => a - b) as [number, number];
      const first = Math.floor(ends[0] * bars);
      const last = Math.max(Math.ceil(ends[1] * bars), first + 1);
      select(start + first * step, start + last * step);
    }
    end();
  });
  chart.addEventListener('pointercancel', end);
  chart.addEventListener('click', (event) => isDragged && event.preventDefault(), true);
}

/**
 * Loads the page with another span. One that has not ended yet stays open, so that new entries
 * appear.
 */
function select(start: number, end: number): void {
  const address = new URL(location.href);
  address.searchParams.delete('cursor');
  address.searchParams.set('start_date', new Date(start).toISOString());
  if (end < Date.now()) address.searchParams.set('end_date', new Date(end).toISOString());
  else address.searchParams.delete('end_date');
  location.assign(address.pathname + address.search);
}
