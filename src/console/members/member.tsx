import { getMember, type MemberDetails } from '../../accounts/members/get';
import { requireMember } from '../../accounts/members/member';
import type { Agent } from '../../agents/agent';
import { listAgents } from '../../agents/list';
import { listActivity } from '../../audit/list-activity';
import type { LoadedRows } from '../../http/preload';
import type { Passkey } from '../../identity/passkeys/passkey';
import { ActivityList } from '../activity/activity-list';
import { loadNames } from '../frame/names';
import { sendPage } from '../frame/page';
import { Facts, ForPrograms, Section } from '../parts/blocks';
import { Alert } from '../parts/form';
import { Badge, Code, Time, TimeSince, Written, WrittenLink } from '../parts/inline';
import { onOrOff } from '../parts/words';
import type { ConsoleContext } from '../session/access';
import { MemberForms, type RefusedMemberForm, shownForms } from './member-forms';
import { loadReviewing, type preloadReviewer } from './reviewing';
import { ROLE_SUMMARIES } from './roles';
import { memberName, signInWords, UNPROVEN } from './words';

type Queries = Awaited<ReturnType<typeof preloadReviewer>>;
type MemberContext = ConsoleContext<Queries>;

/** How many of the latest actions the page of a member has. */
const LATEST = 10;
/** How many agents are searched for those that the member owns. */
const MAX_AGENTS = 500;

/** Shows a member: who it is, what can be changed, and what the member did last. */
export async function showMember(c: MemberContext): Promise<Response> {
  return sendMember(c, c.var.loaded);
}

/**
 * Answers with the page of a member.
 * @param refused the form of the page that was sent and refused
 */
export async function sendMember(
  c: MemberContext,
  loaded: LoadedRows<Queries>,
  refused?: RefusedMemberForm,
): Promise<Response> {
  const { context } = c.var.signedIn;
  const { principal } = context;
  const row = requireMember(loaded.member);
  const mayReadAgents = principal.scopes.includes('agents:read');
  const maySeeActivity = principal.scopes.includes('audit:read');
  const shown = shownForms(row, principal);
  const [member, agents, activity, reviewing, names] = await Promise.all([
    getMember(context, { member: row }),
    mayReadAgents && listAgents(context, { limit: MAX_AGENTS }),
    maySeeActivity && listActivity(context, { actor: row.id, limit: LATEST }),
    shown.length > 0 ? loadReviewing(context, { member: row, named: loaded.named ?? [] }) : null,
    loadNames(context, ['people', 'agents', 'policies', 'webhooks', 'channels', 'connections']),
  ]);
  const owned = agents ? agents.data.filter(({ owner_id }) => owner_id === member.id) : [];
  const isOwner =
    member.role === 'owner' &&
    member.status !== 'removed' &&
    principal.scopes.includes('account:write');
  const children = (
    <>
      {refused && !shown.includes(refused.form) && <Alert>{refused.refusal.detail}</Alert>}
      <div class="decision">
        <div class="about">
          <Who member={member} />
          {owned.length > 0 && <OwnedAgents agents={owned} />}
          {member.passkeys && member.status !== 'invited' && (
            <Passkeys passkeys={member.passkeys} />
          )}
          {activity && (
            <Section name="latest" title="What they did last" class="part">
              {activity.data.length === 0 && <p class="soft">Nothing yet.</p>}
              {activity.data.length > 0 && <ActivityList records={activity.data} />}
              <p class="actions">
                {activity.has_more && (
                  <a href={`/console/activity?actor=${member.id}`}>Everything they did</a>
                )}
                <a href={`/console/activity?target=${member.id}`}>What was done to this member</a>
              </p>
            </Section>
          )}
        </div>
        <div class="deciding">
          {shown.length > 0 && (
            <MemberForms
              invitationExpiresAt={row.invitationExpiresAt}
              isInvitationEnded={row.invitationHash === null}
              member={member}
              principal={principal}
              reviewing={reviewing}
              shown={shown}
              refused={refused}
            />
          )}
          {shown.length === 0 && isOwner && (
            <p class="card">Only an owner can change, suspend or remove an owner.</p>
          )}
        </div>
      </div>
      <ForPrograms facts={[['Member', <Code text={member.id} />]]} />
    </>
  );
  const heading = [<Written text={memberName(member)} />, ' ', <Badge state={member.status} />];
  return sendPage(c, {
    title: memberName(member),
    heading,
    names,
    status: refused?.refusal.status,
    children,
  });
}

function Who({ member }: { member: MemberDetails }) {
  const { email, email_proven, role, last_seen_at, created_at, status, updated_at } = member;
  return (
    <div class="card">
      <Facts
        facts={[
          email !== null && [
            'E-mail',
            [<Written text={email} />, !email_proven && <small>{UNPROVEN}</small>],
          ],
          ['Role', [role, ' ', <small>{ROLE_SUMMARIES[role]}</small>]],
          (status === 'active' || status === 'suspended') && ['Signs in with', signInWords(member)],
          ['Last seen', last_seen_at === null ? 'never' : <TimeSince at={last_seen_at} />],
          ['Invited', <Time at={created_at} />],
          status === 'removed' && ['Removed', <Time at={updated_at} />],
        ]}
      />
    </div>
  );
}

function OwnedAgents({ agents }: { agents: readonly Agent[] }) {
  return (
    <Section name="agents" title="Agents they are responsible for" class="part">
      <ul class="lines card">
        {agents.map(({ id, name, is_active }) => (
          <li>
            <WrittenLink href={`/console/agents/${id}`} text={name} />
            <Badge state={onOrOff(is_active)} />
          </li>
        ))}
      </ul>
    </Section>
  );
}

function Passkeys({ passkeys }: { passkeys: readonly Passkey[] }) {
  return (
    <Section name="passkeys" title="Passkeys" class="part">
      {passkeys.length === 0 && <p class="soft">None.</p>}
      {passkeys.length > 0 && (
        <ul class="lines card">
          {passkeys.map(({ name, added_at, removed_at }) => (
            <li>
              <span>
                <Written text={name} />
                <small>
                  added <Time at={added_at} />
                  {removed_at !== null && [', removed ', <Time at={removed_at} />]}
                </small>
              </span>
              {removed_at !== null && <Badge state="removed" />}
            </li>
          ))}
        </ul>
      )}
    </Section>
  );
}
