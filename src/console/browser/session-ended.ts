const NAME = 'SessionEnded';

/** The person is no longer signed in. */
export class SessionEnded extends Error {
  override name = NAME;
}

/** Compares names instead of classes: the script that verifies has a copy of the class. */
export function isSessionEnded(error: unknown): boolean {
  return error instanceof Error && error.name === NAME;
}
