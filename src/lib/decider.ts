/** Who decided a request: a member, a token of the account, a policy, or a series. */
export type DeciderKind = 'member' | 'account' | 'policy' | 'series';

/**
 * Returns what kind of decider an id names, by its prefix; null for an id of another kind. A token
 * of the account decides under the id of the account, and a series under that of the permission
 * whose approval gave it.
 */
export function deciderKind(id: string): DeciderKind | null {
  switch (id.split('_', 1)[0]) {
    case 'member':
      return 'member';
    case 'user':
      return 'account';
    case 'policy':
      return 'policy';
    case 'perm':
      return 'series';
    default:
      return null;
  }
}
