import type { Written } from './written';

/** A piece of a line: words of this program, or of an agent or a person. */
export type Phrase = string | Written;

/** A part of a mail between its heading and its link. Both renderings show the same parts. */
export type Block =
  | { kind: 'paragraph'; text: string }
  /** Pairs of a label and a value; `hint` explains them, and `more` says what was left out. */
  | { kind: 'facts'; title?: string; hint?: string; rows: Fact[]; more?: string | undefined }
  /** Lines that an agent or a person wrote. */
  | { kind: 'quote'; label: string; lines: string[] }
  | { kind: 'requests'; title: string; requests: ListedRequest[] };

export interface Fact {
  label: Phrase;
  value: Phrase[];
  /** A value that this one replaced. */
  before?: Phrase[] | undefined;
}

/** A request in a list of several. */
export interface ListedRequest {
  /** The title in the agent's own words; null if it has none. */
  title: Written | null;
  action: Written;
  resource: Written;
  agent: Written;
  state: Phrase[];
  url: string;
}

/** The contents of a mail, before it is rendered. */
export interface MailDocument {
  /** Every text of an agent or a person in it is made by `quoteForSubject`. */
  subject: string;
  /** Words of this program only. */
  heading: string;
  blocks: Block[];
  link: { label: string; url: string };
  /** The small print below the link. */
  note: string;
}
