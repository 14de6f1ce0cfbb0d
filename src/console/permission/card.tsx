import type { Child } from 'hono/jsx';
import { requirePermission } from '../../permissions/find-permission';
import { type Permission, type ReviewedPermission, statusAt } from '../../permissions/permission';
import type { preloadCard } from '../../permissions/preload-card';
import { type Refusal, readForm, type SentForm } from '../frame/form';
import { sendPage } from '../frame/page';
import { Keys } from '../inbox/keys';
import { ForPrograms } from '../parts/blocks';
import { Code, Time, WrittenText } from '../parts/inline';
import { RequestName } from '../parts/request';
import type { PreloadedContext, SignedInRequest } from '../session/access';
import { isSenderMark } from '../session/session';
import { Binding } from './binding';
import { CardTop } from './card-top';
import { DecisionFlash } from './decision-flash';
import { DecisionForm } from './decision-form';
import { Ending } from './ending';
import { LiveState } from './live-state';
import { type Card, loadCard, type PreloadedCard } from './load-card';
import { agentOfInbox } from './next-request';
import { OutcomeSection } from './outcome';
import { PolicyWeighing } from './policy-weighing';
import { Contradictions, hasMoreThanTitle, PreviewCard } from './preview';
import { SimilarRequests } from './similar-requests';
import { Story } from './story';
import { Votes } from './votes';
import { NobodyNotified, WhoWasTold } from './who-was-told';

export type CardContext = PreloadedContext<typeof preloadCard>;

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

/** The form of a decision that was not taken, and why it was refused. */
interface RefusedDecision {
  refusal: Refusal;
  form: SentForm;
}

/**
 * Answers with the card of a permission.
 * @param refused why the decision in this request was refused, and its form
 */
export async function sendCard(
  c: SignedInRequest,
  loaded: PreloadedCard,
  refused?: RefusedDecision,
): Promise<Response> {
  const card = await loadCard(c, loaded);
  const { permission, isPending, isOfConnection, input, preview } = card;
  const agentId = agentOfInbox(c);
  return sendPage(c, {
    title: `${card.name} · ${permission.resource}`,
    names: card.names,
    heading: <RequestName request={permission} />,
    status: refused?.refusal.status,
    flash: flashOf(c, card),
    children: (
      <>
        <CardTop card={card} />
        {isPending && (
          <div class="live-state" role="status">
            <LiveState row={card.row} status={permission.status} agentId={agentId} />
          </div>
        )}
        {card.hasNotifiedNobody && <NobodyNotified />}
        {preview && (
          <Contradictions preview={preview} input={input} isOfConnection={isOfConnection} />
        )}
        <div class="decision">
          <div class="about">
            <Asked card={card} />
          </div>
          <div class="deciding">
            <Deciding c={c} card={card} refused={refused} />
          </div>
        </div>
        <SimilarRequests permissions={card.similar} />
        {card.entries && <Story entries={card.entries} />}
        <ForPrograms facts={factsOf(permission)} />
        <Keys page="request" />
      </>
    ),
  });
}

/** Says what the reader's decision on the page before did; null if there was none. */
function flashOf(c: SignedInRequest, { permission, row, next }: Card): Child {
  const { flash, waiting } = c.var.signedIn;
  if (!flash) return null;
  return (
    <DecisionFlash
      flash={flash}
      permission={permission}
      row={row}
      next={next}
      waiting={waiting}
      agentId={agentOfInbox(c)}
    />
  );
}

/** The request itself: the limits and arguments, the reason, and the preview. */
function Asked({ card: { row, permission, input, preview, isOfConnection } }: { card: Card }) {
  return (
    <>
      <Binding row={row} permission={permission} input={input} preview={preview} />
      {permission.reason && (
        <blockquote class="card">
          <p class="hint">Why, in the agent’s own words</p>
          <WrittenText text={permission.reason} label="Why" />
        </blockquote>
      )}
      {preview && hasMoreThanTitle(preview) && (
        <PreviewCard preview={preview} input={input} isOfConnection={isOfConnection} />
      )}
    </>
  );
}

interface DecidingProps {
  c: SignedInRequest;
  card: Card;
  refused: RefusedDecision | undefined;
}

/** The decision: the form to take it or how it ended, and what helps to take or understand it. */
function Deciding({ c, card, refused }: DecidingProps) {
  const { row, permission, standing, policies } = card;
  const { review, outcome } = permission;
  return (
    <>
      {review && <Votes review={review} row={row} standing={standing} />}
      {card.isPending && (
        <DecisionForm
          row={row}
          name={card.name}
          standing={standing}
          principal={c.var.signedIn.context.principal}
          hasPasskey={card.hasPasskey}
          agentId={agentOfInbox(c)}
          {...refused}
        />
      )}
      {!card.isPending && (
        <Ending
          permission={permission}
          seriesUsage={card.seriesUsage}
          refusal={refused?.refusal}
          // The flash message has the link to the next request already.
          next={c.var.signedIn.flash ? undefined : card.next}
        />
      )}
      {outcome && <OutcomeSection outcome={outcome} isOfConnection={card.isOfConnection} />}
      {policies && (
        <PolicyWeighing permission={permission} maxUses={row.maxUses} policies={policies} />
      )}
      <WhoWasTold notifications={card.notifications} />
    </>
  );
}

function factsOf(permission: Permission): [string, Child][] {
  return [
    ['Permission', <Code text={permission.id} />],
    ['Agent', <Code text={permission.agent_id} />],
    ['External id', codeOrDash(permission.external_id)],
    ['Digest of the arguments', codeOrDash(permission.input_digest)],
    ['Digest of the preview', codeOrDash(permission.preview_digest)],
    ['Asked', <Time at={permission.created_at} />],
    ['Expires undecided', <Time at={permission.expires_at} />],
  ];
}

function codeOrDash(text: string | null | undefined): Child {
  if (!text) return '–';
  return <Code text={text} />;
}
