import { Hono } from 'hono';
import * as z from 'zod';
import { Problem } from '../../../errors';
import type { AppEnv, MemberRef, UserPrincipal } from '../../../http/context';
import { noQuery, readText } from '../../../http/input';
import { type CallerRequest, openContext } from '../../../http/open-context';
import { answer, ok, operation } from '../../../http/operation';
import { limitNetwork } from '../../../http/rate-limit';
import { recordMemberSeen } from '../../../identity/credentials';
import { ROLE_SCOPES } from '../../../identity/roles';
import { CredentialEnded } from '../../../ledger/authority';
import { type LazyOutput, lazy } from '../../../lib/lazy';
import { type ActedOn, type CalledChannel, findCalledChannel, loadActedOn } from './called-channel';
import { readInteraction } from './interaction';
import { openDecisionModal, SWITCHED_OFF } from './open-decision-modal';
import { MAX_PAYLOAD_BYTES } from './payload-size';
import { makeRefusal } from './read-fields';
import { isFromSlack } from './signature';
import { LINK_ENDED, type LinkedContext, type Submission, submitDecision } from './submit-decision';

// From a message to a decision. Each step is a file of this folder:
//
// 1. A person presses the button of a message (`message.ts`). Slack sends a click, which
//    `interaction.ts` reads, and `open-decision-modal.ts` opens the modal that `modal.ts` makes.
// 2. The person submits the modal. Slack sends a submission, which `interaction.ts` reads, and
//    `submit-decision.ts` takes the decision: `read-fields.ts` reads it from the fields of the
//    modal, and `decidePermission` decides as for every other caller.
//
// For both, `called-channel.ts` finds the channel that Slack called, and loads the member and the
// permission.

/**
 * Tells Slack what to do next: nothing, after a click; to close the modal, or to show what is wrong
 * with its fields.
 */
const SlackResponse = lazy(() =>
  z
    .object({
      response_action: z.enum(['clear', 'errors']).optional(),
      errors: z.record(z.string(), z.string()).optional(),
    })
    .meta({ id: 'SlackResponse', examples: [{ response_action: 'clear' }] }),
);

type SlackResponse = LazyOutput<typeof SlackResponse>;

/**
 * Handles what a person did in Slack. Answers a click at once and calls Slack afterwards, because
 * Slack waits at most 3 seconds. The body is read once the address is known, and parsed once its
 * signature is verified. So a submission takes three round trips: for the address, for what it acts
 * on, and to decide.
 * @throws Problem `not_found` for an unknown address; `invalid_signature` if the signature is
 *   missing, wrong or older than 5 minutes; `rate_limited` after too many of both from one network;
 *   `payload_too_large`, `account_inactive`, `unavailable`
 */
export async function receiveFromSlack(
  c: CallerRequest,
  inboundSecret: string,
): Promise<SlackResponse> {
  const { config, runtime } = c.var;
  const channel = await findCalledChannel(c, inboundSecret);
  if (!channel) {
    await limitNetwork(c);
    throw new Problem('not_found', 'There is no channel with this address.');
  }
  const body = await readText(c.req.raw, MAX_PAYLOAD_BYTES);
  const isSigned = await isFromSlack({
    signingSecret: channel.secrets?.signingSecret ?? '',
    timestamp: c.req.header('X-Slack-Request-Timestamp') ?? null,
    signature: c.req.header('X-Slack-Signature') ?? null,
    body,
    now: runtime.now(),
  });
  if (!isSigned || !channel.secrets) {
    await limitNetwork(c);
    throw new Problem(
      'invalid_signature',
      'The signature of Slack is missing, wrong, or older than 5 minutes.',
    );
  }
  const account = channel.account();
  const caller = {
    credential: 'slack_signature',
    shard: channel.shard,
    account: account.id,
  } as const;
  c.set('caller', caller);
  const interaction = readInteraction(body);
  if (!interaction) return {};
  const on = await loadActedOn(channel, interaction, runtime.now());
  if (on.member) c.set('caller', { ...caller, member: on.member.id });
  if (interaction.kind === 'click') {
    const { botToken } = channel.secrets;
    c.executionCtx.waitUntil(
      openDecisionModal({ config, runtime }, channel, botToken, interaction, on),
    );
    return {};
  }
  const refusal = await submit(c, inboundSecret, channel, interaction, on);
  if (refusal) return { response_action: 'errors', ...refusal };
  return { response_action: 'clear' };
}

/** Takes the decision of a submitted modal; returns why it does not, or null. */
async function submit(
  c: CallerRequest,
  inboundSecret: string,
  channel: CalledChannel,
  submission: Submission,
  { member, memberLastSeenAt, state }: ActedOn,
) {
  if (!channel.isActive) return makeRefusal(SWITCHED_OFF);
  if (!member) return makeRefusal(LINK_ENDED);
  const context = linkedContext(c, inboundSecret, channel, submission, member);
  const account = context.principal.account.number;
  recordMemberSeen(
    channel.database,
    { account, member: member.id, lastSeenAt: memberLastSeenAt },
    context.runtime.now(),
  );
  return submitDecision(context, submission, state);
}

/** The context in which the linked member acts. Each write checks the link again. */
function linkedContext(
  c: CallerRequest,
  inboundSecret: string,
  { shard, database, number, account }: CalledChannel,
  submission: Submission,
  member: MemberRef,
): LinkedContext {
  const own = account();
  const reference = {
    kind: 'slack_link',
    account: own.number,
    receiver: number,
    team: submission.user.teamId,
    slackUser: submission.user.id,
    member,
  } as const;
  const principal: UserPrincipal = {
    kind: 'user',
    shard,
    account: own,
    member,
    token: null,
    scopes: ROLE_SCOPES[member.role],
    expiresAt: null,
  };
  const context = openContext(c, { principal, reference, database }, null);
  return {
    ...context,
    reload: async () => {
      const channel = await findCalledChannel(c, inboundSecret);
      const again = channel && (await loadActedOn(channel, submission, context.runtime.now()));
      if (again?.member?.id !== member.id) throw new CredentialEnded();
      return again.state;
    },
  };
}

export const receiveFromSlackRoute = new Hono<AppEnv>().post(
  '/v1/inbound/:secret/slack',
  operation({
    id: 'receiveFromSlack',
    tag: 'Channels',
    summary: 'Receive what a person did in Slack',
    description:
      'The request URL for interactivity of a Slack app, which is the `inbound_url` of the ' +
      'channel. Slack sends a form of at most 64 KiB with the field `payload` and signs it: ' +
      '`X-Slack-Request-Timestamp` and `X-Slack-Signature`. Clicks on buttons and submitted ' +
      'modals of other apps are answered 200 and ignored.',
    success: ok(SlackResponse),
    path: lazy(() => z.object({ secret: z.string().meta({ description: 'Names the channel.' }) })),
    problems: [
      'not_found',
      'invalid_signature',
      'account_inactive',
      'payload_too_large',
      'invalid_request',
      'rate_limited',
    ],
  }),
  noQuery(),
  async (c) => answer(c, await receiveFromSlack(c, c.req.param('secret'))),
);
