import type { Config, Runtime } from '../../../env';
import { ROLE_SCOPES } from '../../../identity/roles';
import { countVotes } from '../../../permissions/reviews/review';
import { standingOf } from '../../../permissions/reviews/voter';
import { cardUrl } from '../message';
import type { ActedOn, CalledChannel } from './called-channel';
import {
  findObstacle,
  MAY_NOT_DECIDE,
  NO_REQUEST,
  presentForPeople,
  proposalOf,
} from './decidable';
import type { Interaction } from './interaction';
import { signLinkAddress } from './link-address';
import { linkingMessage } from './linking-message';
import { notice } from './message';
import { type DecisionModal, decisionModal } from './modal';
import { callAndLog, postEphemeral } from './respond';

export type Click = Extract<Interaction, { kind: 'click' }>;

export const SWITCHED_OFF =
  'This channel is switched off in Countersign. Decide the request there.';
const WITHOUT_ARGUMENTS = 'The agent does not show its arguments, so it is decided in Countersign.';
const TOO_LONG = 'It is too long for Slack, so it is decided in Countersign.';

/**
 * Answers a click on the button of a message, by calls of Slack: opens the modal for a member who
 * may decide; otherwise tells the person, and nobody else, why it does not, or how to link the
 * Slack user to a member.
 */
export async function openDecisionModal(
  { config, runtime }: { config: Config; runtime: Runtime },
  channel: CalledChannel,
  botToken: string,
  click: Click,
  on: ActedOn,
): Promise<void> {
  const at = { channel: click.slackChannel, user: click.user.id };
  const url = cardUrl(config.publicUrl, click.permissionId);
  if (!on.member && channel.isActive) {
    const linked = { id: channel.id, secret: channel.encryptedSecrets };
    const address = await signLinkAddress(config, runtime, linked, click.user);
    return postEphemeral(runtime, botToken, at, linkingMessage(address));
  }
  const modal = modalContentOf(channel, on, url, runtime.now());
  if (typeof modal === 'string') return postEphemeral(runtime, botToken, at, notice(modal, url));
  const view = decisionModal(modal);
  if (!view) return postEphemeral(runtime, botToken, at, notice(TOO_LONG, url));
  const body = { trigger_id: click.triggerId, view };
  if (await callAndLog(runtime, botToken, 'views.open', body)) return;
  await postEphemeral(
    runtime,
    botToken,
    at,
    notice('Slack could not open the form. Press the button again.', url),
  );
}

/** The content of the modal; a text says why there is none. */
function modalContentOf(
  channel: CalledChannel,
  { member, state, agentName, input, preview }: ActedOn,
  url: string,
  now: number,
): DecisionModal | string {
  if (!channel.isActive) return SWITCHED_OFF;
  const row = state.permission;
  if (!row) return NO_REQUEST;
  const obstacle = findObstacle(row, now);
  if (obstacle !== null) return obstacle;
  if (!member || !ROLE_SCOPES[member.role].includes('permissions:decide')) return MAY_NOT_DECIDE;
  if (standingOf(row.review, state.voter, member.id) === 'not_a_reviewer')
    return 'You are not one of its reviewers.';
  if (row.inputDigest !== null && input === null) return WITHOUT_ARGUMENTS;
  return {
    permission: presentForPeople(row, now),
    preview,
    input,
    agentName,
    cardUrl: url,
    proposal: proposalOf(row),
    votes: countVotes(row),
  };
}
