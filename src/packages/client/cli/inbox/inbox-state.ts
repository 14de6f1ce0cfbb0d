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
  const move = (to: number) => {
    state.selected = requests[Math.max(0, Math.min(requests.length - 1, to))]?.id ?? null;
    return null;
  };
  if (name === 'r') return { kind: 'reload' };
  if (name === 'j' || name === 'down') return move(place + 1);
  if (name === 'k' || name === 'up') return move(place - 1);
  if (selected === null) return null;
  if (name === 'return' || name === 'a') return { kind: 'open', id: selected, view: 'card' };
  if (name === 'd') return { kind: 'open', id: selected, view: 'reason' };
  return null;
}

function useCard(state: InboxState, { name }: Key): Action | null {
  if (name === 'escape' || name === 'backspace' || name === 'left') state.view = 'list';
  else if (name === 'j' || name === 'down') state.scroll += 1;
  else if (name === 'k' || name === 'up') state.scroll = Math.max(0, state.scroll - 1);
  else if (name === 'space' || name === 'pagedown') state.scroll += 10;
  else if (name === 'pageup') state.scroll = Math.max(0, state.scroll - 10);
  else if (state.card?.status !== 'pending') state.message = 'This request is decided.';
  else if (name === 'd') Object.assign(state, { view: 'reason', reason: '' });
  else if (name === 'a' && !state.isRead)
    state.message = 'Read it to the end first: Space shows more.';
  else if (name === 'a') state.view = 'confirm';
  return null;
}

function confirm(state: InboxState, { name }: Key): Action | null {
  state.view = 'card';
  if (name !== 'y' || !state.card) return null;
  return { kind: 'approve', id: state.card.id };
}

function typeReason(state: InboxState, { name, sequence = '', ctrl }: Key): Action | null {
  if (name === 'escape') {
    state.view = 'card';
  } else if (name === 'return' || name === 'enter') {
    if (state.card) return { kind: 'deny', id: state.card.id, reason: state.reason.trim() };
  } else if (name === 'backspace') {
    state.reason = [...state.reason].slice(0, -1).join('');
  } else if (
    !ctrl &&
    /^[^\p{Cc}]+$/u.test(sequence) &&
    state.reason.length + sequence.length <= MAX_REASON
  ) {
    state.reason += sequence;
  }
  return null;
}
