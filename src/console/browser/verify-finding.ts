/** The result of a step of the verification. */
export interface Finding {
  /** `open` if it could not be checked. */
  state: 'passed' | 'failed' | 'open';
  /** Why, as a sentence. */
  text: string;
  /** How a step that could not be checked here can be checked, as a sentence. */
  instead?: string;
  /** The values that were compared, by name. */
  evidence?: [name: string, value: string][];
}

/** A step of the verification. */
export interface Step extends Finding {
  /** The claim that holds if the step passes, as a sentence without its full stop. */
  title: string;
  /**
   * Whether the step is a part of the proof that the entry is in the signed log; the others are
   * about who decided, and about what the page of the request shows.
   */
  isOfLog: boolean;
}
