import type { Names } from '../names.ts';
import { formatPermission } from '../permission-card.ts';
import { escapeText } from '../terminal/escape.ts';
import type { Style } from '../terminal/style.ts';
import { formatTable } from '../terminal/table.ts';
import { fitWidth } from '../terminal/width.ts';
import { inboxColumns } from './columns.ts';
import type { InboxState } from './inbox-state.ts';

interface Screen {
  width: number;
  height: number;
  style: Style;
  baseUrl: string;
  now: number;
  names: Names;
}

/** Returns the lines of the screen, and notes in the state whether the end of the card is shown. */
export function drawInbox(state: InboxState, screen: Screen): string[] {
  const { style, width, height } = screen;
  const room = Math.max(3, height - 3);
  const body =
    state.view === 'list' ? drawList(state, screen, room) : drawCard(state, screen, room);
  while (body.length < room) body.push('');
  const question = {
    list: '',
    card: '',
    confirm: 'Approve this request? y/n',
    reason: `Reason, if you like: ${state.reason}▏`,
  }[state.view];
  const message = state.isBusy ? '…' : question || state.message;
  return [
    ...body,
    style.bold(fitEnd(escapeText(message), width)),
    style.dim(fitWidth(KEYS[state.view], width)),
  ];
}

const KEYS = {
  list: '↑↓ move   Enter show   a approve   d deny   r read again   q end',
  card: 'Space more   a approve   d deny   Esc back   q end',
  confirm: 'y approve   any other key: back',
  reason: 'Enter deny   Esc back',
};

function drawList(state: InboxState, { width, style, now, names }: Screen, room: number): string[] {
  const { requests, selected } = state;
  if (requests.length === 0) return ['Nothing waits for you.'];
  const [head = '', ...rows] = formatTable(requests, inboxColumns(now, names), width, style);
  const found = requests.findIndex(({ id }) => id === selected);
  const place = Math.max(0, found);
  rows[place] = style.inverse(rows[place] ?? '');
  const first = Math.max(0, Math.min(place - Math.floor(room / 2), rows.length - (room - 1)));
  return [head, ...rows.slice(first, first + room - 1)];
}

function drawCard(state: InboxState, screen: Screen, room: number): string[] {
  if (!state.card) return [];
  const lines = formatPermission(state.card, screen);
  state.scroll = Math.max(0, Math.min(state.scroll, lines.length - room));
  const end = state.scroll + room;
  if (end >= lines.length) state.isRead = true;
  return lines.slice(state.scroll, end);
}

/** The end of a text that is longer than the line, so that what is typed stays in sight. */
function fitEnd(text: string, width: number): string {
  const characters = [...text];
  if (characters.length < width) return text;
  return `…${characters.slice(-(width - 2)).join('')}`;
}
