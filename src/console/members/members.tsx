import { listMemberRows } from '../../accounts/members/list';
import {
  type Member,
  type MemberRow,
  MemberStatusField,
  presentMember,
} from '../../accounts/members/member';
import { MemberRoleField } from '../../identity/roles';
import { sendPage } from '../frame/page';
import { usePage } from '../frame/page-context';
import { Empty, LinkButton, NextPage, PAGE_SIZE, Tabs, withParameters } from '../parts/blocks';
import { ListFilter } from '../parts/form';
import { Badge, TimeSince, Written, WrittenLink } from '../parts/inline';
import type { ConsoleContext } from '../session/access';
import { RoleTable } from './roles';
import { memberName, signInWords, UNPROVEN } from './words';

const VIEWS: readonly [status: Member['status'] | null, label: string][] = [
  [null, 'All'],
  ['active', 'Active'],
  ['invited', 'Invited'],
  ['suspended', 'Suspended'],
  ['removed', 'Removed'],
];

/**
 * Shows the people of the account, newest first; removed ones only if the address asks for them.
 */
export async function showMembers(c: ConsoleContext): Promise<Response> {
  const { context } = c.var.signedIn;
  const { principal } = context;
  const roles = MemberRoleField().options;
  const role = roles.find((role) => role === c.req.query('role'));
  const status = MemberStatusField().options.find((status) => status === c.req.query('status'));
  const cursor = c.req.query('cursor') || undefined;
  const page = await listMemberRows(
    context,
    { limit: PAGE_SIZE, role, status, cursor },
    (row) => row,
  );
  const address = new URL(c.req.url);
  const children = (
    <>
      <div class="bar">
        <ListFilter
          action="/console/members"
          label="Role"
          name="role"
          current={role}
          allLabel="Any role"
          options={roles.map((role) => [role, role] as const)}
          otherParameters={{ status }}
        />
        {principal.scopes.includes('account:write') && (
          <LinkButton href="/console/members/new" label="Invite a member" />
        )}
      </div>
      <Tabs
        label="Members by status"
        tabs={VIEWS}
        current={status ?? null}
        address={(view) => withParameters(address, { status: view, cursor: null })}
      />
      {page.data.length === 0 && (
        <Empty title="There is no such member.">
          {role && (
            <a href={withParameters(address, { role: null, cursor: null })}>
              Show members with any role
            </a>
          )}
        </Empty>
      )}
      {page.data.length > 0 && (
        <ul class="requests">
          {page.data.map((row) => (
            <MemberItem row={row} isCaller={row.id === principal.member?.id} />
          ))}
        </ul>
      )}
      <NextPage page={page} address={address} label="More" />
      <RoleTable />
    </>
  );
  return sendPage(c, { title: 'Members', children });
}

function MemberItem({ row, isCaller }: { row: MemberRow; isCaller: boolean }) {
  const member = presentMember(row);
  const { id, name, email, email_proven, role, status, last_seen_at } = member;
  const isInvitationOver =
    status === 'invited' &&
    row.invitationExpiresAt !== null &&
    row.invitationExpiresAt <= usePage().now;
  return (
    <li class="request" data-row>
      <div class="what">
        <WrittenLink href={`/console/members/${id}`} text={memberName(member)} />
        {isCaller && ' (you)'}
        {name !== null && email !== null && (
          <p class="soft">
            <Written text={email} />
          </p>
        )}
        {status === 'active' && email !== null && !email_proven && <p class="soft">{UNPROVEN}</p>}
      </div>
      <div class="side">
        {role} <Badge state={status} />
        <p class="soft">
          {isInvitationOver ? 'the invitation has expired' : signInWords(member)}
          {last_seen_at !== null && [', seen ', <TimeSince at={last_seen_at} />]}
        </p>
      </div>
    </li>
  );
}
