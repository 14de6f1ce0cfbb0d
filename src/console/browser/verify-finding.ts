/** What a step of the verification found. */
export interface Finding {
  /** `open` if it could not be checked. */
  state: 'passed' | 'failed' | 'open';
  text: string;
  /** What was compared, by name. */
  evidence?: [name: string, value: string][];
}

/** A step of the verification. */
export interface Step extends Finding {
  /** What has passed if the step passes, as a sentence. */
  title: string;
}
