import { customType } from 'drizzle-orm/sqlite-core';
import { toHex } from '../lib/bytes';
import { formatId, type Id, idBytes } from '../lib/typeid';

/** Members by id and by role. */
interface People<Role extends string> {
  members: Id<'member'>[] | null;
  roles: Role[] | null;
}

/**
 * Who reviews a request, and how many have to approve. Without members and roles, all who may
 * decide are reviewers.
 */
export interface StoredReviewRule<Role extends string> extends People<Role> {
  approvals: number;
  /** Whether the agent's owner may approve. */
  allow_self: boolean;
  /** Whether every approval has to be signed with a passkey. */
  passkey: boolean;
  /** Who becomes a reviewer too, `after` seconds after the request. */
  escalation: (People<Role> & { after: number }) | null;
}

/**
 * Makes a column for the rule of a review. It is stored as JSON with the ids of members in
 * hexadecimal and the roles as codes, so that SQL can compare them with the columns of `members`.
 */
export function reviewRuleColumn<const W extends readonly string[]>(roles: W) {
  type Role = W[number];
  const encode = ({ members, roles: named }: People<Role>) => ({
    members: members?.map((id) => toHex(idBytes(id))) ?? null,
    roles: named?.map((role) => roles.indexOf(role)) ?? null,
  });
  const decode = ({ members, roles: codes }: ReturnType<typeof encode>) => ({
    members: members?.map((hex) => formatId('member', Uint8Array.fromHex(hex))) ?? null,
    roles: codes?.map((code) => roles[code]) ?? null,
  });
  return customType<{ data: StoredReviewRule<Role>; driverData: string }>({
    dataType: () => 'text',
    toDriver: ({ escalation, ...rule }) =>
      JSON.stringify({
        ...rule,
        ...encode(rule),
        escalation: escalation && { ...escalation, ...encode(escalation) },
      }),
    fromDriver: (text) => {
      const { escalation, ...rule } = JSON.parse(text);
      return {
        ...rule,
        ...decode(rule),
        escalation: escalation && { ...escalation, ...decode(escalation) },
      };
    },
  });
}
