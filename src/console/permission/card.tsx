import type { Child } from 'hono/jsx';
import { listAuditEntries } from '../../audit/list';
import { amountOf } from '../../permissions/amount';
import { presentContents } from '../../permissions/contents';
import { requirePermission } from '../../permissions/find-permission';
import { hasNotifiedNobody } from '../../permissions/notified-nobody';
import { presentPermission, type ReviewedPermission, statusAt } from '../../permissions/permission';
import type { preloadDecidable } from '../../permissions/preload-decidable';
import { standingOf } from '../../permissions/reviews/voter';
import { selectActivePolicies } from '../../policies/policy';
import { listNotifications } from '../../receivers/channels/notifications';
import { type Refusal, readForm, type SentForm } from '../frame/form';
import { loadNames } from '../frame/names';
import { numbersOf, sendPage } from '../frame/page';
import { Keys } from '../inbox/keys';
import { ForPrograms } from '../parts/blocks';
import {
  Code,
  Time,
  TimeLeft,
  TimeSince,
  Written,
  WrittenLink,
  WrittenText,
} from '../parts/inline';
import { Deciders, RequestName, StateBadge } from '../parts/request';
import type { PreloadedContext, SignedInRequest } from '../session/access';
import { isSenderMark } from '../session/session';
import { Binding } from './binding';
import { DecisionFlash } from './decision-flash';
import { DecisionForm } from './decision-form';
import { Ending } from './ending';
import { LiveState } from './live-state';
import { isTroubled, OutcomeBadge, OutcomeSection } from './outcome';
import { PolicyWeighing } from './policy-weighing';
import { Contradictions, hasMoreThanTitle, PreviewCard } from './preview';
import { agentOfQueue, findNext } from './queue';
import { listSimilar, SimilarRequests } from './similar-requests';
import { Story } from './story';
import { Votes } from './votes';
import { NobodyNotified, WhoWasTold } from './who-was-told';

export type CardContext = PreloadedContext<typeof preloadDecidable>;

/**
 * Maximum number of entries of the log that a card shows. A permission has few: its request, the
 * decision, and the uses and the end of its token.
 */
const MAX_ENTRIES = 100;
/** Maximum number of messages about the request that a card shows. */
const MAX_NOTIFICATIONS = 100;

/** Shows a request with everything that one needs to decide it, or how it was decided. */
export function showCard(c: CardContext): Promise<Response> {
  return sendCard(c, c.var.loaded);
}

/**
 * Shows the card again with what somebody typed into its form before their session ended. Decides
 * nothing. What another person typed is left out.
 */
export async function showTypedCard(c: CardContext): Promise<Response> {
  const { loaded, signedIn, config, runtime } = c.var;
  const { principal } = signedIn.context;
  const form = await readForm(c);
  if (!(await isSenderMark(config.keyring, principal, form.text('sender'))))
    return sendCard(c, loaded);
  const row = requirePermission(principal, loaded.permission?.[0]);
  const details = ['Your session had ended, so nothing was decided.'];
  if (statusAt(row, runtime.now()) === 'pending') details.push(nextStep(row, form));
  return sendCard(c, loaded, {
    refusal: { detail: details.join(' '), status: 200, faults: new Map(), typed: {} },
    form,
  });
}

/** Says how to go on with a form that is shown again. */
function nextStep(row: ReviewedPermission, form: SentForm): string {
  if (Number(form.text('votes')) !== (row.review?.votes.length ?? 0))
    return 'Somebody has voted since: check the limits that are left, and decide again.';
  return 'What you typed is in the form again: check it, and decide.';
}

/**
 * Answers with the card of a permission.
 * @param refused why the decision in this request was refused, and its form
 */
export async function sendCard(
  c: SignedInRequest,
  loaded: CardContext['var']['loaded'],
  refused?: { refusal: Refusal; form: SentForm },
): Promise<Response> {
  const { context, flash } = c.var.signedIn;
  const { principal, reader, runtime } = context;
  const row = requirePermission(principal, loaded.permission?.[0]);
  const permission = presentPermission(row, runtime.now(), principal);
  const { input, preview, series_usage } = presentContents(row);
  const known = row.input === null ? undefined : input;
  const { action, resource, agent_id } = permission;

  const isPending = permission.status === 'pending';
  const mayDecide = principal.scopes.includes('permissions:decide');
  const maySeeLog = principal.scopes.includes('audit:read');
  const maySeePolicies = principal.scopes.includes('policies:read');
  const [names, similar, story, notifications, notifiedNobody, next, [policies]] =
    await Promise.all([
      loadNames(context, ['people', 'agents', 'policies']),
      listSimilar(context, permission),
      maySeeLog &&
        listAuditEntries(context, { permission_id: row.id, order: 'asc', limit: MAX_ENTRIES }),
      listNotifications(context, { id: row.id, limit: MAX_NOTIFICATIONS }),
      isPending && hasNotifiedNobody(context, row.id),
      (flash || !isPending) && mayDecide && findNext(c, row.id),
      maySeePolicies ? reader.load([selectActivePolicies(principal.account.number)]) : [[]],
    ]);
  const agentName = names.get(agent_id) ?? agent_id;
  const standing = standingOf(row.review, loaded.voter?.[0], principal.member?.id);
  const name = amountOf(permission, numbersOf(c)) ?? action;
  const title = `${name} · ${resource}`;
  const isOfConnection = permission.connection_id !== null;

  return sendPage(c, {
    title,
    names,
    heading: <RequestName request={permission} />,
    status: refused?.refusal.status,
    flash: flash && (
      <DecisionFlash
        flash={flash}
        permission={permission}
        row={row}
        next={next || undefined}
        waiting={c.var.signedIn.waiting}
        agentId={agentOfQueue(c)}
      />
    ),
    children: (
      <>
        <div class="card-top">
          <p>
            <strong>
              <WrittenLink href={`/console/agents/${agent_id}`} text={agentName} />
            </strong>{' '}
            {isPending ? 'asks' : 'asked'} for <Code text={action} /> on{' '}
            <strong>
              <Written text={resource} />
            </strong>
          </p>
          {permission.title !== null && (
            <p>
              <span class="says">{isOfConnection ? 'To be sent: ' : 'Agent says: '}</span>
              <Written text={permission.title} />
            </p>
          )}
          <p class="actions">
            <StateBadge request={permission} />
            {isTroubled(permission) && (
              <OutcomeBadge status={permission.outcome.status} isOfConnection={isOfConnection} />
            )}
            {permission.decided_at && (
              <span>
                by{' '}
                <strong>
                  <Deciders permission={permission} />
                </strong>
              </span>
            )}
            {isPending && (
              <span>
                <TimeLeft until={permission.expires_at} /> to decide
              </span>
            )}
            <span class="soft">
              asked <TimeSince at={permission.created_at} />
            </span>
          </p>
        </div>
        {isPending && (
          <div class="live-state" role="status">
            <LiveState row={row} status={permission.status} agentId={agentOfQueue(c)} />
          </div>
        )}
        {notifiedNobody && <NobodyNotified />}
        {preview && (
          <Contradictions preview={preview} input={known} isOfConnection={isOfConnection} />
        )}
        <div class="decision">
          <div class="about">
            <Binding row={row} permission={permission} input={known} preview={preview} />
            {permission.reason && (
              <blockquote class="card">
                <p class="hint">Why, in the agent’s own words</p>
                <WrittenText text={permission.reason} label="Why" />
              </blockquote>
            )}
            {preview && hasMoreThanTitle(preview) && (
              <PreviewCard preview={preview} input={known} isOfConnection={isOfConnection} />
            )}
          </div>
          <div class="deciding">
            {permission.review && (
              <Votes review={permission.review} row={row} standing={standing} />
            )}
            {isPending && (
              <DecisionForm
                row={row}
                name={name}
                standing={standing}
                principal={principal}
                hasPasskey={(loaded.passkeys ?? []).length > 0}
                agentId={agentOfQueue(c)}
                {...refused}
              />
            )}
            {!isPending && (
              <Ending
                permission={{ ...permission, ...(series_usage && { series_usage }) }}
                refusal={refused?.refusal}
                next={flash ? undefined : next || undefined}
              />
            )}
            {permission.outcome && (
              <OutcomeSection outcome={permission.outcome} isOfConnection={isOfConnection} />
            )}
            {maySeePolicies && (
              <PolicyWeighing permission={permission} maxUses={row.maxUses} policies={policies} />
            )}
            <WhoWasTold notifications={notifications} />
          </div>
        </div>
        <SimilarRequests permissions={similar} />
        {story && <Story entries={story.data} />}
        <ForPrograms
          facts={[
            ['Permission', <Code text={row.id} />],
            ['Agent', <Code text={agent_id} />],
            ['External id', codeOrDash(permission.external_id)],
            ['Digest of the arguments', codeOrDash(permission.input_digest)],
            ['Digest of the preview', codeOrDash(permission.preview_digest)],
            ['Asked', <Time at={permission.created_at} />],
            ['Expires undecided', <Time at={permission.expires_at} />],
          ]}
        />
        <Keys page="request" />
      </>
    ),
  });
}

function codeOrDash(text: string | null | undefined): Child {
  if (!text) return '–';
  return <Code text={text} />;
}
