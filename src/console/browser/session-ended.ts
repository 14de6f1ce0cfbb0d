const NAME = 'SessionEnded';

/** The person is no longer signed in. */
export class SessionEnded extends Error {
  override name = NAME;
}

/** Compares names instead of classes: the script that verifies has a copy of the class. */
export function isSessionEnded(error: Error): boolean {
  return error.name === NAME;
}
