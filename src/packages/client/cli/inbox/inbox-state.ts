import type { Permission } from '../../api.ts';

/** The state of the inbox on the screen. */
export interface InboxState {
  requests: Permission[];
  /**
   * The request of the cursor, by its id: a list that is read again does not move the cursor to
   * another one.
   */
  selected: string | null;
  view: 'list' | 'card' | 'confirm' | 'reason';
  /** The request of the card. */
  card: Permission | null;
  /** The first line of the card on the screen. */
  scroll: number;
  /** Whether the last line of the card was on the screen. */
  isRead: boolean;
  /** The reason as far as it is typed. */
  reason: string;
  message: string;
  isBusy: boolean;
}

/** A key of the terminal, as node:readline names it. */
export interface Key {
  name?: string | undefined;
  sequence?: string | undefined;
  ctrl?: boolean | undefined;
}

/** The act that a key asks for, beyond a change of what is shown. */
export type Action =
  | { kind: 'quit' | 'reload' }
  | { kind: 'open'; id: string; view: InboxState['view'] }
  | { kind: 'approve'; id: string }
  /** The reason may be empty. */
  | { kind: 'deny'; id: string; reason: string };

/** The longest reason that the service takes. */
const MAX_REASON = 1000;

/** Changes the state by a key, and returns what is to be done. */
export function takeKey(state: InboxState, key: Key): Action | null {
  if (key.ctrl && (key.name === 'c' || key.name === 'd')) return { kind: 'quit' };
  // Keys that were typed before a request was shown decide nothing.
  if (state.isBusy) return null;
  state.message = '';
  if (state.view === 'reason') return typeReason(state, key);
  if (state.view === 'confirm') return confirm(state, key);
  if (key.name === 'q') return { kind: 'quit' };
  if (state.view === 'card') return useCard(state, key);
  return useList(state, key);
}

function useList(state: InboxState, { name }: Key): Action | null {
  const { requests, selected } = state;
  const place = requests.findIndex(({ id }) => id === selected);
  const last = requests.length - 1;
  switch (name) {
    case 'r':
      return { kind: 'reload' };
    case 'j':
    case 'down':
      state.selected = requests[Math.min(last, place + 1)]?.id ?? null;
      return null;
    case 'k':
    case 'up':
      state.selected = requests[Math.max(0, place - 1)]?.id ?? null;
      return null;
    case 'return':
    case 'a':
      return open(selected, 'card');
    case 'd':
      return open(selected, 'reason');
    default:
      return null;
  }
}

function open(id: string | null, view: InboxState['view']): Action | null {
  if (id === null) return null;
  return { kind: 'open', id, view };
}

function useCard(state: InboxState, { name }: Key): null {
  switch (name) {
    case 'escape':
    case 'backspace':
    case 'left':
      state.view = 'list';
      break;
    case 'j':
    case 'down':
      state.scroll += 1;
      break;
    case 'k':
    case 'up':
      state.scroll = Math.max(0, state.scroll - 1);
      break;
    case 'space':
    case 'pagedown':
      state.scroll += 10;
      break;
    case 'pageup':
      state.scroll = Math.max(0, state.scroll - 10);
      break;
    default:
      beginDecision(state, name);
  }
  return null;
}

function beginDecision(state: InboxState, name: string | undefined): void {
  if (state.card?.status !== 'pending') state.message = 'This request is decided.';
  else if (name === 'd') Object.assign(state, { view: 'reason', reason: '' });
  else if (name === 'a' && state.isRead) state.view = 'confirm';
  else if (name === 'a') state.message = 'Read it to the end first: Space shows more.';
}

function confirm(state: InboxState, { name }: Key): Action | null {
  state.view = 'card';
  if (name !== 'y' || !state.card) return null;
  return { kind: 'approve', id: state.card.id };
}

function typeReason(state: InboxState, { name, sequence = '', ctrl }: Key): Action | null {
  const { card, reason } = state;
  switch (name) {
    case 'escape':
      state.view = 'card';
      return null;
    case 'return':
    case 'enter':
      return card && { kind: 'deny', id: card.id, reason: reason.trim() };
    case 'backspace':
      state.reason = [...reason].slice(0, -1).join('');
      return null;
  }
  const isText = !ctrl && /^[^\p{Cc}]+$/u.test(sequence);
  if (isText && reason.length + sequence.length <= MAX_REASON) state.reason += sequence;
  return null;
}
