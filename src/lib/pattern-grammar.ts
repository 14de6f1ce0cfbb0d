import { isUnseen } from './unseen';

/** A class of characters that no grammar tells apart. */
type CharacterClass = 'word' | 'dot' | 'colon' | 'space' | 'pictograph' | 'selector' | 'other';

/**
 * For each state, the next state by the class of the next character. A class that is missing is not
 * allowed there.
 */
type Transitions = Record<string, Partial<Record<CharacterClass, string>>>;

interface Grammar {
  transitions: Transitions;
  /** The states in which a text may end. */
  ends: string[];
  /** Code points. */
  maxLength: number;
}

const START = 'start';

const ACTION: Grammar = {
  transitions: {
    [START]: { word: 'first part' },
    'first part': { word: 'first part', dot: 'dot' },
    dot: { word: 'later part' },
    'later part': { word: 'later part', dot: 'dot' },
  },
  ends: ['later part'],
  maxLength: 128,
};

const BEGINS_IDENTIFIER = {
  ...{ word: 'character', dot: 'character', colon: 'character', other: 'character' },
  pictograph: 'pictograph',
} as const;

const IN_IDENTIFIER = { ...BEGINS_IDENTIFIER, space: 'space' } as const;

const RESOURCE: Grammar = {
  transitions: {
    [START]: { word: 'kind' },
    kind: { word: 'kind', colon: 'colon' },
    colon: BEGINS_IDENTIFIER,
    character: IN_IDENTIFIER,
    space: IN_IDENTIFIER,
    // A selector chooses how the pictograph before it looks.
    pictograph: { ...IN_IDENTIFIER, selector: 'character' },
  },
  ends: ['character', 'pictograph'],
  maxLength: 512,
};

/**
 * Whether a pattern, in which `*` stands for any characters or none, matches at least one valid
 * action.
 */
export function canMatchAction(pattern: string): boolean {
  return canMatch(pattern, ACTION);
}

/**
 * Whether a pattern, in which `*` stands for any characters or none, matches at least one valid
 * resource.
 */
export function canMatchResource(pattern: string): boolean {
  return canMatch(pattern, RESOURCE);
}

/** The shortest length of a text that leads to a state, by the state. */
type Lengths = Map<string, number>;

function canMatch(pattern: string, { transitions, ends, maxLength }: Grammar): boolean {
  let lengths: Lengths = new Map([[START, 0]]);
  for (const character of pattern) {
    if (character === '*') lengths = extend(lengths, transitions);
    else lengths = advance(lengths, transitions, (known) => known === classOf(character));
  }
  return ends.some((state) => (lengths.get(state) ?? Number.POSITIVE_INFINITY) <= maxLength);
}

/** Goes one character further from every state, by the classes that are allowed. */
function advance(
  lengths: Lengths,
  transitions: Transitions,
  isAllowed: (known: string) => boolean,
): Lengths {
  const next: Lengths = new Map();
  for (const [state, length] of lengths) {
    for (const [known, target] of Object.entries(transitions[state] ?? {})) {
      const best = next.get(target) ?? Number.POSITIVE_INFINITY;
      if (isAllowed(known)) next.set(target, Math.min(best, length + 1));
    }
  }
  return next;
}

/** Goes any number of characters further from every state. */
function extend(lengths: Lengths, transitions: Transitions): Lengths {
  const reached = new Map(lengths);
  for (let newest = lengths; newest.size > 0; ) {
    const longer = advance(newest, transitions, () => true);
    newest = new Map(
      [...longer].filter(
        ([state, length]) => length < (reached.get(state) ?? Number.POSITIVE_INFINITY),
      ),
    );
    for (const [state, length] of newest) reached.set(state, length);
  }
  return reached;
}

/** The class of a character; undefined for one that is allowed nowhere. */
function classOf(character: string): CharacterClass | undefined {
  if (/[a-z0-9_-]/.test(character)) return 'word';
  if (character === '.') return 'dot';
  if (character === ':') return 'colon';
  if (character === ' ') return 'space';
  if (character === '\ufe0e' || character === '\ufe0f') return 'selector';
  if (/\p{Extended_Pictographic}/u.test(character)) return 'pictograph';
  return isUnseen(character) ? undefined : 'other';
}
