import * as z from 'zod';
import type { Config, Runtime } from '../../env';
import { EXAMPLE } from '../../http/examples';
import { timeField } from '../../http/response-fields';
import { hashCredential } from '../../identity/credentials';
import { makeCredential } from '../../lib/credential';
import { type LazyOutput, lazy } from '../../lib/lazy';
import { DAY, formatTime } from '../../lib/time';
import type { Id } from '../../lib/typeid';
import { exampleMember, Member } from './member';

/** Lifetime of an invitation, in milliseconds. */
const INVITATION_LIFETIME = 7 * DAY;

export const exampleInvitation = {
  url: `${EXAMPLE.origin}/console/invitations/${EXAMPLE.invitation}`,
  expires_at: EXAMPLE.laterTime,
};

export const Invitation = lazy(() =>
  z
    .object({
      url: z.string().meta({
        description:
          'The page at which the invited person joins. It works once. The person who opens it becomes the member.',
      }),
      expires_at: timeField,
    })
    .meta({
      id: 'Invitation',
      description: 'The invitation of a member, shown only this once.',
      examples: [exampleInvitation],
    }),
);

export const InvitedMember = lazy(() =>
  Member()
    .extend({ invitation: Invitation() })
    .meta({
      id: 'InvitedMember',
      description: 'A new member, with the invitation.',
      examples: [
        {
          ...exampleMember,
          status: 'invited',
          email_proven: false,
          sign_in: [],
          last_seen_at: null,
          invitation: exampleInvitation,
        },
      ],
    }),
);

export type Invitation = LazyOutput<typeof Invitation>;
export type InvitedMember = LazyOutput<typeof InvitedMember>;

/**
 * Makes an invitation: the answer that shows it, and the columns of the member that store it.
 * @param by the member who invites; null for the operator and for a token of the account
 */
export async function makeInvitation(
  { config, runtime }: { config: Config; runtime: Runtime },
  { shard, by }: { shard: string; by: Id<'member'> | null },
) {
  const secret = makeCredential('invitation', shard, runtime.random);
  const [invitationHash] = await hashCredential(config.keyring, secret);
  const invitationExpiresAt = runtime.now() + INVITATION_LIFETIME;
  const url = `${config.publicUrl}/console/invitations/${secret}`;
  const invitation: Invitation = { url, expires_at: formatTime(invitationExpiresAt) };
  return { invitation, columns: { invitationHash, invitationExpiresAt, invitedBy: by } };
}
