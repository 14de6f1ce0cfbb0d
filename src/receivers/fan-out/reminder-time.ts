/** The part of a request's life after which each reminder is due. */
const REMINDER_SHARES = { 1: 0.5, 2: 0.9 };

/** When a reminder of a request is due: at half and at nine tenths of its life. */
export function reminderTime(
  { createdAt, expiresAt }: { createdAt: number; expiresAt: number },
  reminder: 1 | 2,
): number {
  return createdAt + Math.floor((expiresAt - createdAt) * REMINDER_SHARES[reminder]);
}
