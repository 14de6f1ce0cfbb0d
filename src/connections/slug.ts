import { and, eq, sql } from 'drizzle-orm';
import { connections } from '../db/schema';
import { Problem } from '../errors';
import { plainText } from '../http/fields';
import { type Guard, hasRow } from '../ledger/guard';
import { lazy } from '../lib/lazy';

const MAX_LENGTH = 64;
const SLUG = '^[a-z0-9_-]+$';
/** The slug of a connection whose name has no letter or digit of ASCII. */
const UNNAMED = 'connection';

export const slugField = lazy(() =>
  plainText(MAX_LENGTH).regex(new RegExp(SLUG), 'must be letters a to z, digits, _ and -').meta({
    description: 'Its name in actions; by default made from `name`. It never changes.',
  }),
);

/** Makes a slug from a name: `GitHub (écriture)` becomes `github-ecriture`. */
export function slugOf(name: string): string {
  const plain = name.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase();
  const words = plain.split(/[^a-z0-9_]+/).filter((word) => word !== '');
  return words.join('-').slice(0, MAX_LENGTH).replace(/-$/, '') || UNNAMED;
}

/** The guard of a new connection: no other of the account has its slug. */
export function freeSlugGuard(account: number, slug: string): Guard {
  const isTaken = hasRow(
    connections,
    and(eq(connections.account, account), eq(connections.slug, slug)),
  );
  return {
    name: 'slug_is_free',
    holds: sql`not ${isTaken}`,
    otherwise: () =>
      new Problem(
        'conflict',
        `The account has another connection with the slug ${slug}. Choose another \`slug\`.`,
      ),
  };
}
