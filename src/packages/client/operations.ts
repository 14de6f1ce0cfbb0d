// Generated from the OpenAPI document by `npm run generate-client`. Do not edit.
import type {
  Account,
  AccountCreation,
  AccountErasure,
  AccountUpdate,
  Activity,
  Agent,
  AgentCreation,
  AgentStatistics,
  AgentUpdate,
  Approval,
  AuditEntry,
  AuditExport,
  AuditHistogram,
  Channel,
  ChannelCreation,
  ChannelDelivery,
  ChannelDeliveryDetail,
  ChannelUpdate,
  ComplianceReport,
  Connection,
  ConnectionCreation,
  ConnectionReads,
  ConnectionTest,
  ConnectionTestResult,
  ConnectionUpdate,
  ConsistencyProof,
  CreateAuditExportInput,
  CreateComplianceReportInput,
  CreatedAccount,
  CreatedAgent,
  CreatedUserToken,
  Delivery,
  DeliveryDetail,
  Denial,
  DownloadFileQuery,
  GetAgentStatisticsQuery,
  GetApiDescriptionAnswer,
  GetAuditHistogramQuery,
  GetCheckpointQuery,
  GetConnectionReadsQuery,
  GetPermissionQuery,
  Health,
  InclusionProof,
  IntrospectTokenAnswer,
  Invitation,
  InvitedMember,
  KeyRotation,
  KeySet,
  ListAccountsQuery,
  ListActivityQuery,
  ListAgentsQuery,
  ListAuditEntriesQuery,
  ListAuditExportsQuery,
  ListChannelDeliveriesQuery,
  ListChannelsQuery,
  ListComplianceReportsQuery,
  ListConnectionsQuery,
  ListDeliveriesQuery,
  ListMembersQuery,
  ListNotificationsQuery,
  ListPasskeysQuery,
  ListPermissionsQuery,
  ListPoliciesQuery,
  ListSessionsQuery,
  ListUserTokensQuery,
  ListWebhooksQuery,
  LogContinuation,
  LogRestoration,
  Member,
  MemberDetails,
  MemberInvitation,
  MemberUpdate,
  NamedCheckpoint,
  Notification,
  NotificationSettings,
  NotificationSettingsUpdate,
  OutcomeReport,
  OwnAccount,
  OwnerInvitation,
  PairingExchange,
  Passkey,
  Permission,
  PermissionRequest,
  Policy,
  PolicyCreation,
  PolicyReplay,
  PolicySimulation,
  PolicyUpdate,
  ProveConsistencyQuery,
  Receipt,
  Replay,
  Revocation,
  RotatedKey,
  ServerMetadata,
  Session,
  Simulation,
  SlackResponse,
  Statement,
  StatementRequest,
  StopRequest,
  StopState,
  TokenIntrospection,
  TokenRevocation,
  TokenUse,
  UsedToken,
  UserToken,
  UserTokenCreation,
  Webhook,
  WebhookCreation,
  WebhookUpdate,
  WebhookWithSecret,
} from './api.ts';
import { type Call, type CallOptions, path } from './call.ts';
import type { PagePromise } from './page.ts';

/** A method for every operation of the API. */
export abstract class Operations {
  /** Sends a call and returns the JSON of its answer. */
  protected abstract json<T>(call: Call): Promise<T>;
  /** Sends a call whose answer has no content. */
  protected abstract empty(call: Call): Promise<void>;
  /** Sends a call and returns its answer as it is. */
  protected abstract response(call: Call): Promise<Response>;
  /** Reads a list page by page. */
  protected abstract pages<T>(call: Call): PagePromise<T>;

  /**
   * Check the health of the service.
   *
   * Answers after reading from every database.
   *
   * `GET /healthz`.
   */
  checkHealth(options?: CallOptions): Promise<Health> {
    return this.json<Health>({ method: 'GET', path: path`/healthz`, ...options });
  }

  /**
   * Create an account.
   *
   * Also creates its first user token, which has every scope, and invites its first owner. Send the URL of the invitation to the person: the service sends no mail.
   *
   * `POST /v1/admin/users`, by the operator token.
   */
  createAccount(body: AccountCreation, options?: CallOptions): Promise<CreatedAccount> {
    return this.json<CreatedAccount>({
      method: 'POST',
      path: path`/v1/admin/users`,
      body,
      ...options,
    });
  }

  /**
   * List accounts.
   *
   * Newest first.
   *
   * `GET /v1/admin/users`, by the operator token.
   */
  listAccounts(query: ListAccountsQuery = {}, options?: CallOptions): PagePromise<Account> {
    return this.pages<Account>({ method: 'GET', path: path`/v1/admin/users`, query, ...options });
  }

  /**
   * Get an account.
   *
   * `GET /v1/admin/users/{id}`, by the operator token.
   */
  getAccount(id: string, options?: CallOptions): Promise<Account> {
    return this.json<Account>({ method: 'GET', path: path`/v1/admin/users/${id}`, ...options });
  }

  /**
   * Change an account.
   *
   * Changes the given fields. An account that leaves the plan `enterprise` loses its `audit_retention_days`. `stopped: null` resumes a stopped account.
   *
   * `PATCH /v1/admin/users/{id}`, by the operator token.
   */
  updateAccount(id: string, body: AccountUpdate, options?: CallOptions): Promise<Account> {
    return this.json<Account>({
      method: 'PATCH',
      path: path`/v1/admin/users/${id}`,
      body,
      ...options,
    });
  }

  /**
   * Delete an account.
   *
   * Its credentials are refused at once. The data of the account is erased in the background.
   *
   * `DELETE /v1/admin/users/{id}`, by the operator token.
   */
  deleteAccount(id: string, options?: CallOptions): Promise<AccountErasure> {
    return this.json<AccountErasure>({
      method: 'DELETE',
      path: path`/v1/admin/users/${id}`,
      ...options,
    });
  }

  /**
   * Create a user token for an account.
   *
   * `POST /v1/admin/users/{id}/tokens`, by the operator token.
   */
  createAccountToken(
    id: string,
    body: UserTokenCreation = {},
    options?: CallOptions,
  ): Promise<CreatedUserToken> {
    return this.json<CreatedUserToken>({
      method: 'POST',
      path: path`/v1/admin/users/${id}/tokens`,
      body,
      ...options,
    });
  }

  /**
   * Invite an owner to an account.
   *
   * Gives an older account its first owner, or an account that lost its owners a new one. An owner with this address whose invitation has expired gets a new one.
   *
   * `POST /v1/admin/users/{id}/owner`, by the operator token.
   */
  inviteOwner(id: string, body: OwnerInvitation, options?: CallOptions): Promise<InvitedMember> {
    return this.json<InvitedMember>({
      method: 'POST',
      path: path`/v1/admin/users/${id}/owner`,
      body,
      ...options,
    });
  }

  /**
   * Get your account.
   *
   * With the member who calls, and the scopes of the credential.
   *
   * `GET /v1/me`, by a user token with `account:read`.
   */
  getOwnAccount(options?: CallOptions): Promise<OwnAccount> {
    return this.json<OwnAccount>({ method: 'GET', path: path`/v1/me`, ...options });
  }

  /**
   * Stop every agent of your account.
   *
   * From then on nothing is requested, approved or used, until somebody resumes the account. Denials, withdrawals, revocations and reads go on. Nothing is revoked. A token that somebody checks offline is not stopped. If the account is stopped already, the answer is that stop.
   *
   * `POST /v1/me/stop`, by a user token with `permissions:decide` or a user token with `account:write`.
   */
  stopAccount(body: StopRequest = {}, options?: CallOptions): Promise<StopState> {
    return this.json<StopState>({ method: 'POST', path: path`/v1/me/stop`, body, ...options });
  }

  /**
   * Resume your account after a stop.
   *
   * Approvals from before the stop that have not expired are valid again.
   *
   * `POST /v1/me/resume`, by a user token with `account:write`.
   */
  resumeAccount(options?: CallOptions): Promise<StopState> {
    return this.json<StopState>({ method: 'POST', path: path`/v1/me/resume`, ...options });
  }

  /**
   * Create a user token.
   *
   * Its scopes and lifetime cannot exceed those of the calling credential. It belongs to the member who calls, or to the account if the calling token does.
   *
   * `POST /v1/me/tokens`, by a user token with `account:write`.
   */
  createUserToken(body: UserTokenCreation = {}, options?: CallOptions): Promise<CreatedUserToken> {
    return this.json<CreatedUserToken>({
      method: 'POST',
      path: path`/v1/me/tokens`,
      body,
      ...options,
    });
  }

  /**
   * List user tokens.
   *
   * Those of the member who calls; for a token of the account, those of the account. Newest first, without the tokens themselves.
   *
   * `GET /v1/me/tokens`, by a user token with `account:read`.
   */
  listUserTokens(query: ListUserTokensQuery = {}, options?: CallOptions): PagePromise<UserToken> {
    return this.pages<UserToken>({ method: 'GET', path: path`/v1/me/tokens`, query, ...options });
  }

  /**
   * Delete a user token.
   *
   * The token is refused from then on, and so are the sessions of the console that were started with it. A token can delete itself with `account:read` alone; to delete another one needs `account:write`.
   *
   * `DELETE /v1/me/tokens/{id}`, by a user token with `account:read`.
   */
  deleteUserToken(id: string, options?: CallOptions): Promise<void> {
    return this.empty({ method: 'DELETE', path: path`/v1/me/tokens/${id}`, ...options });
  }

  /**
   * Exchange a pairing code for a user token.
   *
   * The last step of a pairing, by which a program gets a token of the member who confirmed it at `/console/pair`. The token lives 30 days, and has the scopes of the member’s role without `account:write`. A code lives 60 seconds and works once; a wrong `code_verifier` or `redirect_uri` ends it too. Every code that cannot be exchanged gets the same 400. An `Idempotency-Key` has no effect: begin the pairing again if the answer was lost.
   *
   * `POST /v1/pairing`.
   */
  exchangePairingCode(body: PairingExchange, options?: CallOptions): Promise<CreatedUserToken> {
    return this.json<CreatedUserToken>({
      method: 'POST',
      path: path`/v1/pairing`,
      body,
      ...options,
    });
  }

  /**
   * List your sessions.
   *
   * The sessions of the console in which you are signed in; for a token of the account, those that were started with the account's own tokens. Newest first.
   *
   * `GET /v1/me/sessions`, by a user token with `account:read`.
   */
  listSessions(query: ListSessionsQuery = {}, options?: CallOptions): PagePromise<Session> {
    return this.pages<Session>({ method: 'GET', path: path`/v1/me/sessions`, query, ...options });
  }

  /**
   * End one of your sessions.
   *
   * The session of the console ends at once.
   *
   * `DELETE /v1/me/sessions/{id}`, by a user token with `account:read`.
   */
  endSession(id: string, options?: CallOptions): Promise<void> {
    return this.empty({ method: 'DELETE', path: path`/v1/me/sessions/${id}`, ...options });
  }

  /**
   * List your passkeys.
   *
   * Newest first. Passkeys are added and removed in the console.
   *
   * `GET /v1/me/passkeys`, by a user token with `account:read`.
   */
  listPasskeys(query: ListPasskeysQuery = {}, options?: CallOptions): PagePromise<Passkey> {
    return this.pages<Passkey>({ method: 'GET', path: path`/v1/me/passkeys`, query, ...options });
  }

  /**
   * Invite a member.
   *
   * Creates a member and an invitation, which the member accepts within 7 days. Send its URL to the person: the service sends no mail.
   *
   * `POST /v1/members`, by a user token with `account:write`.
   */
  inviteMember(body: MemberInvitation, options?: CallOptions): Promise<InvitedMember> {
    return this.json<InvitedMember>({ method: 'POST', path: path`/v1/members`, body, ...options });
  }

  /**
   * List members.
   *
   * Newest first. Removed members are listed only with `status=removed`.
   *
   * `GET /v1/members`, by a user token with `account:read`.
   */
  listMembers(query: ListMembersQuery = {}, options?: CallOptions): PagePromise<Member> {
    return this.pages<Member>({ method: 'GET', path: path`/v1/members`, query, ...options });
  }

  /**
   * Get a member.
   *
   * Also a removed one, as long as the audit log may name it. `leaves` lists what the member made that stays when the member goes. With the scope `audit:read`, shows the passkeys too, so that an auditor can check signed decisions.
   *
   * `GET /v1/members/{id}`, by a user token with `account:read`.
   */
  getMember(id: string, options?: CallOptions): Promise<MemberDetails> {
    return this.json<MemberDetails>({ method: 'GET', path: path`/v1/members/${id}`, ...options });
  }

  /**
   * Change a member.
   *
   * Changes the given fields. A new role holds from then on, for requests in flight too, and ends the open invitations of the member that it could not make. Suspending a member ends the tokens and sessions of the member, and all open invitations that the member made, for good.
   *
   * `PUT /v1/members/{id}`, by a user token with `account:write`.
   */
  updateMember(id: string, body: MemberUpdate, options?: CallOptions): Promise<Member> {
    return this.json<Member>({ method: 'PUT', path: path`/v1/members/${id}`, body, ...options });
  }

  /**
   * Remove a member.
   *
   * Ends the access of the member for good, and the open invitations that the member made. Decisions that the member took stand. The webhooks, channels, connections, policies and account tokens that the member made stay. The member can be read as long as the audit log may name it.
   *
   * `DELETE /v1/members/{id}`, by a user token with `account:write`.
   */
  removeMember(id: string, options?: CallOptions): Promise<void> {
    return this.empty({ method: 'DELETE', path: path`/v1/members/${id}`, ...options });
  }

  /**
   * Invite a member again.
   *
   * Makes a new invitation for a member who has not joined yet. The old one ends.
   *
   * `POST /v1/members/{id}/invitation`, by a user token with `account:write`.
   */
  renewInvitation(id: string, options?: CallOptions): Promise<Invitation> {
    return this.json<Invitation>({
      method: 'POST',
      path: path`/v1/members/${id}/invitation`,
      ...options,
    });
  }

  /**
   * Register an agent.
   *
   * `POST /v1/agents`, by a user token with `agents:write`.
   */
  createAgent(body: AgentCreation, options?: CallOptions): Promise<CreatedAgent> {
    return this.json<CreatedAgent>({ method: 'POST', path: path`/v1/agents`, body, ...options });
  }

  /**
   * List agents.
   *
   * Newest first, without their keys.
   *
   * `GET /v1/agents`, by a user token with `agents:read`.
   */
  listAgents(query: ListAgentsQuery = {}, options?: CallOptions): PagePromise<Agent> {
    return this.pages<Agent>({ method: 'GET', path: path`/v1/agents`, query, ...options });
  }

  /**
   * Get an agent.
   *
   * `GET /v1/agents/{id}`, by a user token with `agents:read`.
   */
  getAgent(id: string, options?: CallOptions): Promise<Agent> {
    return this.json<Agent>({ method: 'GET', path: path`/v1/agents/${id}`, ...options });
  }

  /**
   * Change an agent.
   *
   * Changes the given fields. `metadata` is replaced as a whole; a `description` of null removes it.
   *
   * `PUT /v1/agents/{id}`, by a user token with `agents:write`.
   */
  updateAgent(id: string, body: AgentUpdate, options?: CallOptions): Promise<Agent> {
    return this.json<Agent>({ method: 'PUT', path: path`/v1/agents/${id}`, body, ...options });
  }

  /**
   * Delete an agent.
   *
   * Permanent: from this moment its keys are refused, and its permissions, tokens and audit entries are gone.
   *
   * `DELETE /v1/agents/{id}`, by a user token with `agents:write`.
   */
  deleteAgent(id: string, options?: CallOptions): Promise<void> {
    return this.empty({ method: 'DELETE', path: path`/v1/agents/${id}`, ...options });
  }

  /**
   * Give an agent a new key.
   *
   * The replaced key works until the grace period ends. Keys that were replaced earlier keep their end, unless the grace period is 0.
   *
   * `POST /v1/agents/{id}/rotate-key`, by a user token with `agents:write`.
   */
  rotateAgentKey(id: string, body: KeyRotation = {}, options?: CallOptions): Promise<RotatedKey> {
    return this.json<RotatedKey>({
      method: 'POST',
      path: path`/v1/agents/${id}/rotate-key`,
      body,
      ...options,
    });
  }

  /**
   * Get the statistics of an agent.
   *
   * Counts the requests of the period by their status. The counts remain when audit entries expire.
   *
   * `GET /v1/agents/{id}/stats`, by a user token with `agents:read`.
   */
  getAgentStatistics(
    id: string,
    query: GetAgentStatisticsQuery = {},
    options?: CallOptions,
  ): Promise<AgentStatistics> {
    return this.json<AgentStatistics>({
      method: 'GET',
      path: path`/v1/agents/${id}/stats`,
      query,
      ...options,
    });
  }

  /**
   * Request a permission.
   *
   * A policy may decide it at once; otherwise it waits for people. The same request with the same `external_id` is answered 200 with the existing permission.
   *
   * `POST /v1/permissions`, by an agent key.
   */
  requestPermission(body: PermissionRequest, options?: CallOptions): Promise<Permission> {
    return this.json<Permission>({ method: 'POST', path: path`/v1/permissions`, body, ...options });
  }

  /**
   * List permissions.
   *
   * Newest first, in the order of the log: of requests or, with a status, of the entries that gave it. Goes back to the retention of the plan; pending requests and an `external_id` are always found. An agent sees only its own permissions, with their active tokens. A page may be short, with `has_more`.
   *
   * `GET /v1/permissions`, by an agent key or a user token with `permissions:read`.
   */
  listPermissions(
    query: ListPermissionsQuery = {},
    options?: CallOptions,
  ): PagePromise<Permission> {
    return this.pages<Permission>({
      method: 'GET',
      path: path`/v1/permissions`,
      query,
      ...options,
    });
  }

  /**
   * Get a permission, or wait for its decision.
   *
   * An agent sees only its own permissions, with their active tokens.
   *
   * `GET /v1/permissions/{id}`, by an agent key or a user token with `permissions:read`.
   */
  getPermission(
    id: string,
    query: GetPermissionQuery = {},
    options?: CallOptions,
  ): Promise<Permission> {
    return this.json<Permission>({
      method: 'GET',
      path: path`/v1/permissions/${id}`,
      query,
      ...options,
    });
  }

  /**
   * Approve a permission.
   *
   * The approval may narrow the request, but never widen it. In `scope`, a number may be lower, a list may have fewer members (at least one), and the top level may have additional limits; everything else must be as requested. `token_ttl` and `max_uses` may be lower. If several people decide at the same time, one decision wins. In a review that needs several approvals, the permission stays `pending` until enough people have approved; each may narrow what the ones before have left.
   *
   * `POST /v1/permissions/{id}/approve`, by a user token with `permissions:decide`.
   */
  approvePermission(id: string, body: Approval = {}, options?: CallOptions): Promise<Permission> {
    return this.json<Permission>({
      method: 'POST',
      path: path`/v1/permissions/${id}/approve`,
      body,
      ...options,
    });
  }

  /**
   * Deny a permission.
   *
   * One denial is enough, also in a review. The agent's owner can deny without being a reviewer, if the role may decide.
   *
   * `POST /v1/permissions/{id}/deny`, by a user token with `permissions:decide`.
   */
  denyPermission(id: string, body: Denial = {}, options?: CallOptions): Promise<Permission> {
    return this.json<Permission>({
      method: 'POST',
      path: path`/v1/permissions/${id}/deny`,
      body,
      ...options,
    });
  }

  /**
   * Get the statement of a decision, to sign it.
   *
   * Sign the challenge with a passkey, and send the response as `assertion`, together with the `signed_at` of the statement and the same fields, to approve or deny. Writes nothing.
   *
   * `POST /v1/permissions/{id}/statement`, by a user token with `permissions:decide`.
   */
  getStatement(id: string, body: StatementRequest, options?: CallOptions): Promise<Statement> {
    return this.json<Statement>({
      method: 'POST',
      path: path`/v1/permissions/${id}/statement`,
      body,
      ...options,
    });
  }

  /**
   * Withdraw a request.
   *
   * The agent takes back its pending request, which expires at once.
   *
   * `POST /v1/permissions/{id}/withdraw`, by an agent key.
   */
  withdrawPermission(id: string, options?: CallOptions): Promise<Permission> {
    return this.json<Permission>({
      method: 'POST',
      path: path`/v1/permissions/${id}/withdraw`,
      ...options,
    });
  }

  /**
   * End a series.
   *
   * The series that the approval of this permission gave approves nothing from then on. What it has approved stays approved.
   *
   * `DELETE /v1/permissions/{id}/series`, by a user token with `permissions:decide`.
   */
  endSeries(id: string, options?: CallOptions): Promise<void> {
    return this.empty({ method: 'DELETE', path: path`/v1/permissions/${id}/series`, ...options });
  }

  /**
   * Report the outcome of the act.
   *
   * Says what happened after the use: for the agent, the member or the account that took it. It is the word of the program, so it is not in the audit log. The same report again is 200; another one is refused, except after `unknown`. It also works while the account is stopped.
   *
   * `POST /v1/permissions/{id}/outcome`, by an agent key or a user token with `tokens:use`.
   */
  reportOutcome(id: string, body: OutcomeReport, options?: CallOptions): Promise<Permission> {
    return this.json<Permission>({
      method: 'POST',
      path: path`/v1/permissions/${id}/outcome`,
      body,
      ...options,
    });
  }

  /**
   * Use a token.
   *
   * Takes one use atomically, and says what the token allows. The guard of a resource calls this before it acts.
   *
   * `POST /v1/tokens/use`, by an agent key or a user token with `tokens:use`.
   */
  useToken(body: TokenUse, options?: CallOptions): Promise<UsedToken> {
    return this.json<UsedToken>({ method: 'POST', path: path`/v1/tokens/use`, body, ...options });
  }

  /**
   * Revoke a token.
   *
   * The token ends at once (RFC 7009). The answer is the same for an unknown or inactive token.
   *
   * `POST /v1/tokens/revoke`, by an agent key or a user token with `permissions:decide`.
   */
  revokeToken(body: TokenRevocation, options?: CallOptions): Promise<Revocation> {
    return this.json<Revocation>({
      method: 'POST',
      path: path`/v1/tokens/revoke`,
      body,
      ...options,
    });
  }

  /**
   * Introspect a token.
   *
   * Says whether a token is active, with its claims (RFC 7662). This does not count as a use.
   *
   * `POST /v1/tokens/introspect`, by an agent key or a user token with `tokens:use`.
   */
  introspectToken(body: TokenIntrospection, options?: CallOptions): Promise<IntrospectTokenAnswer> {
    return this.json<IntrospectTokenAnswer>({
      method: 'POST',
      path: path`/v1/tokens/introspect`,
      body,
      ...options,
    });
  }

  /**
   * Get the keys that verify tokens and audit logs.
   *
   * A JWK set (RFC 7517). Keys whose `kid` begins with `log-` sign checkpoints of audit logs; the others sign tokens. Pages of any origin may read it.
   *
   * `GET /.well-known/jwks.json`.
   */
  getKeys(options?: CallOptions): Promise<KeySet> {
    return this.json<KeySet>({ method: 'GET', path: path`/.well-known/jwks.json`, ...options });
  }

  /**
   * Get the metadata of the authorization server.
   *
   * The endpoints that standard clients use (RFC 8414). There is no OAuth sign-in: `authorization_endpoint`, `token_endpoint` and `registration_endpoint` say how a client gets its key.
   *
   * `GET /.well-known/oauth-authorization-server`.
   */
  getServerMetadata(options?: CallOptions): Promise<ServerMetadata> {
    return this.json<ServerMetadata>({
      method: 'GET',
      path: path`/.well-known/oauth-authorization-server`,
      ...options,
    });
  }

  /**
   * Create a policy.
   *
   * It applies to later requests only.
   *
   * `POST /v1/policies`, by a user token with `policies:write`.
   */
  createPolicy(body: PolicyCreation, options?: CallOptions): Promise<Policy> {
    return this.json<Policy>({ method: 'POST', path: path`/v1/policies`, body, ...options });
  }

  /**
   * List policies.
   *
   * Newest first.
   *
   * `GET /v1/policies`, by a user token with `policies:read`.
   */
  listPolicies(query: ListPoliciesQuery = {}, options?: CallOptions): PagePromise<Policy> {
    return this.pages<Policy>({ method: 'GET', path: path`/v1/policies`, query, ...options });
  }

  /**
   * Simulate the policies.
   *
   * Shows what the active policies would decide about a request. Writes nothing.
   *
   * `POST /v1/policies/simulate`, by a user token with `policies:read`.
   */
  simulatePolicies(body: PolicySimulation, options?: CallOptions): Promise<Simulation> {
    return this.json<Simulation>({
      method: 'POST',
      path: path`/v1/policies/simulate`,
      body,
      ...options,
    });
  }

  /**
   * Replay past requests.
   *
   * Shows what a draft of a policy would have decided about the newest requests. Writes nothing.
   *
   * `POST /v1/policies/replay`, by a user token with `policies:read`.
   */
  replayPolicy(body: PolicyReplay, options?: CallOptions): Promise<Replay> {
    return this.json<Replay>({ method: 'POST', path: path`/v1/policies/replay`, body, ...options });
  }

  /**
   * Get a policy.
   *
   * `GET /v1/policies/{id}`, by a user token with `policies:read`.
   */
  getPolicy(id: string, options?: CallOptions): Promise<Policy> {
    return this.json<Policy>({ method: 'GET', path: path`/v1/policies/${id}`, ...options });
  }

  /**
   * Change a policy.
   *
   * Changes the given fields.
   *
   * `PUT /v1/policies/{id}`, by a user token with `policies:write`.
   */
  updatePolicy(id: string, body: PolicyUpdate, options?: CallOptions): Promise<Policy> {
    return this.json<Policy>({ method: 'PUT', path: path`/v1/policies/${id}`, body, ...options });
  }

  /**
   * Delete a policy.
   *
   * The decisions that it made remain.
   *
   * `DELETE /v1/policies/{id}`, by a user token with `policies:write`.
   */
  deletePolicy(id: string, options?: CallOptions): Promise<void> {
    return this.empty({ method: 'DELETE', path: path`/v1/policies/${id}`, ...options });
  }

  /**
   * Search the audit log.
   *
   * Goes back to the retention of the plan. Entries must match all filters; an unknown id matches nothing. With `order=asc` and `after_sequence`, a client that stores the last sequence follows the log without a gap. A page ends early, with `has_more`, when its entries reach 8 MiB. With `resource`, `decided_by` or `scope_key`, which have no index, a page examines at most 1,000 entries: it may have few or none, with `has_more`.
   *
   * `GET /v1/audit`, by a user token with `audit:read`.
   */
  listAuditEntries(
    query: ListAuditEntriesQuery = {},
    options?: CallOptions,
  ): PagePromise<AuditEntry> {
    return this.pages<AuditEntry>({ method: 'GET', path: path`/v1/audit`, query, ...options });
  }

  /**
   * Count the entries of the audit log over time.
   *
   * Counts all entries of the account, as far back as the retention of the plan. Entries of a deleted agent are counted until they are erased in the background.
   *
   * `GET /v1/audit/histogram`, by a user token with `audit:read`.
   */
  getAuditHistogram(query: GetAuditHistogramQuery, options?: CallOptions): Promise<AuditHistogram> {
    return this.json<AuditHistogram>({
      method: 'GET',
      path: path`/v1/audit/histogram`,
      query,
      ...options,
    });
  }

  /**
   * Start an export of the audit log.
   *
   * `POST /v1/audit/export`, by a user token with `audit:export`.
   */
  createAuditExport(body: CreateAuditExportInput, options?: CallOptions): Promise<AuditExport> {
    return this.json<AuditExport>({
      method: 'POST',
      path: path`/v1/audit/export`,
      body,
      ...options,
    });
  }

  /**
   * List exports of the audit log.
   *
   * `GET /v1/audit/export`, by a user token with `audit:export`.
   */
  listAuditExports(
    query: ListAuditExportsQuery = {},
    options?: CallOptions,
  ): PagePromise<AuditExport> {
    return this.pages<AuditExport>({
      method: 'GET',
      path: path`/v1/audit/export`,
      query,
      ...options,
    });
  }

  /**
   * Get an export of the audit log.
   *
   * `GET /v1/audit/export/{id}`, by a user token with `audit:export`.
   */
  getAuditExport(id: string, options?: CallOptions): Promise<AuditExport> {
    return this.json<AuditExport>({
      method: 'GET',
      path: path`/v1/audit/export/${id}`,
      ...options,
    });
  }

  /**
   * Get the newest signed head of the log.
   *
   * Every entry is under a signed head within two minutes. Keep some of them: anyone who has an old head can check, with a consistency proof, that the log has only grown since. If the log in the database contradicts its signed heads, this is the last one that was signed.
   *
   * `GET /v1/audit/checkpoint`, by a user token with `audit:read`.
   */
  getCheckpoint(query: GetCheckpointQuery = {}, options?: CallOptions): Promise<NamedCheckpoint> {
    return this.json<NamedCheckpoint>({
      method: 'GET',
      path: path`/v1/audit/checkpoint`,
      query,
      ...options,
    });
  }

  /**
   * Prove that the log has only grown.
   *
   * A consistency proof of RFC 9162 between two sizes of the log.
   *
   * `GET /v1/audit/consistency`, by a user token with `audit:read`.
   */
  proveConsistency(query: ProveConsistencyQuery, options?: CallOptions): Promise<ConsistencyProof> {
    return this.json<ConsistencyProof>({
      method: 'GET',
      path: path`/v1/audit/consistency`,
      query,
      ...options,
    });
  }

  /**
   * Prove that an entry is in the log.
   *
   * An inclusion proof of RFC 9162: that the entry, as it is now, is under the newest signed head.
   *
   * `GET /v1/audit/{id}/proof`, by a user token with `audit:read`.
   */
  proveInclusion(id: string, options?: CallOptions): Promise<InclusionProof> {
    return this.json<InclusionProof>({
      method: 'GET',
      path: path`/v1/audit/${id}/proof`,
      ...options,
    });
  }

  /**
   * Get an audit entry.
   *
   * `GET /v1/audit/{id}`, by a user token with `audit:read`.
   */
  getAuditEntry(id: string, options?: CallOptions): Promise<AuditEntry> {
    return this.json<AuditEntry>({ method: 'GET', path: path`/v1/audit/${id}`, ...options });
  }

  /**
   * Search the account activity.
   *
   * Actions on the account itself, such as creating, changing and deleting agents, policies and tokens. Newest first, back to the retention of the plan.
   *
   * `GET /v1/activity`, by a user token with `audit:read`.
   */
  listActivity(query: ListActivityQuery = {}, options?: CallOptions): PagePromise<Activity> {
    return this.pages<Activity>({ method: 'GET', path: path`/v1/activity`, query, ...options });
  }

  /**
   * Re-sign a log after its database was restored.
   *
   * Moves tiles and signed heads of the log that R2 has from after that time, at most 300, to `trees/{id}/set-aside/`, where nothing reads them. Send the request again while `has_more` is true. Two minutes after the last one the log is signed again, from what the database holds. A log is left as it is if R2 has nothing of it that the database does not, or if it is on another shard.
   *
   * `PUT /v1/admin/users/{id}/log/restoration`, by the operator token.
   */
  continueRestoredLog(
    id: string,
    body: LogRestoration,
    options?: CallOptions,
  ): Promise<LogContinuation> {
    return this.json<LogContinuation>({
      method: 'PUT',
      path: path`/v1/admin/users/${id}/log/restoration`,
      body,
      ...options,
    });
  }

  /**
   * Download a file by its signed address.
   *
   * The address is the `download_url` of an export or a report, or the `proof_url` of an export, and needs no credential. The answer is the file itself, whole or the `Range` of it that was asked for (206).
   *
   * `GET /v1/downloads/{id}`.
   */
  downloadFile(
    id: string,
    query: DownloadFileQuery = {},
    options?: CallOptions,
  ): Promise<Response> {
    return this.response({ method: 'GET', path: path`/v1/downloads/${id}`, query, ...options });
  }

  /**
   * Get the receipt of a permission.
   *
   * One file that proves what was asked, decided and used, under one signed head of the log. `npm run verify` and `countersign verify` check it without the service. Its keys are not in it: who verifies it brings them.
   *
   * `GET /v1/permissions/{id}/receipt`, by a user token with `permissions:read` with `audit:read`.
   */
  getReceipt(id: string, options?: CallOptions): Promise<Receipt> {
    return this.json<Receipt>({
      method: 'GET',
      path: path`/v1/permissions/${id}/receipt`,
      ...options,
    });
  }

  /**
   * Start a compliance report.
   *
   * Evidence for an auditor, from the audit log and the account activity: figures, findings for the controls of a framework with the entries behind them, exceptions and a sample. Evidence, not attestation.
   *
   * `POST /v1/audit/reports/compliance`, by a user token with `audit:export`.
   */
  createComplianceReport(
    body: CreateComplianceReportInput,
    options?: CallOptions,
  ): Promise<ComplianceReport> {
    return this.json<ComplianceReport>({
      method: 'POST',
      path: path`/v1/audit/reports/compliance`,
      body,
      ...options,
    });
  }

  /**
   * List compliance reports.
   *
   * `GET /v1/audit/reports/compliance`, by a user token with `audit:export`.
   */
  listComplianceReports(
    query: ListComplianceReportsQuery = {},
    options?: CallOptions,
  ): PagePromise<ComplianceReport> {
    return this.pages<ComplianceReport>({
      method: 'GET',
      path: path`/v1/audit/reports/compliance`,
      query,
      ...options,
    });
  }

  /**
   * Get a compliance report.
   *
   * `GET /v1/audit/reports/compliance/{id}`, by a user token with `audit:export`.
   */
  getComplianceReport(id: string, options?: CallOptions): Promise<ComplianceReport> {
    return this.json<ComplianceReport>({
      method: 'GET',
      path: path`/v1/audit/reports/compliance/${id}`,
      ...options,
    });
  }

  /**
   * Create a webhook.
   *
   * It gets the events from now on. Messages are signed by the Standard Webhooks specification, with the secret in this answer.
   *
   * `POST /v1/webhooks`, by a user token with `webhooks:write`.
   */
  createWebhook(body: WebhookCreation, options?: CallOptions): Promise<WebhookWithSecret> {
    return this.json<WebhookWithSecret>({
      method: 'POST',
      path: path`/v1/webhooks`,
      body,
      ...options,
    });
  }

  /**
   * List webhooks.
   *
   * Newest first.
   *
   * `GET /v1/webhooks`, by a user token with `webhooks:read`.
   */
  listWebhooks(query: ListWebhooksQuery = {}, options?: CallOptions): PagePromise<Webhook> {
    return this.pages<Webhook>({ method: 'GET', path: path`/v1/webhooks`, query, ...options });
  }

  /**
   * Get a webhook.
   *
   * `GET /v1/webhooks/{id}`, by a user token with `webhooks:read`.
   */
  getWebhook(id: string, options?: CallOptions): Promise<Webhook> {
    return this.json<Webhook>({ method: 'GET', path: path`/v1/webhooks/${id}`, ...options });
  }

  /**
   * Change a webhook.
   *
   * Changes the given fields. A disabled webhook gets nothing more, not even pending deliveries; when it is enabled again, it gets the events from then on.
   *
   * `PUT /v1/webhooks/{id}`, by a user token with `webhooks:write`.
   */
  updateWebhook(id: string, body: WebhookUpdate, options?: CallOptions): Promise<Webhook> {
    return this.json<Webhook>({ method: 'PUT', path: path`/v1/webhooks/${id}`, body, ...options });
  }

  /**
   * Delete a webhook.
   *
   * Deletes its deliveries too. Nothing more is sent to it.
   *
   * `DELETE /v1/webhooks/{id}`, by a user token with `webhooks:write`.
   */
  deleteWebhook(id: string, options?: CallOptions): Promise<void> {
    return this.empty({ method: 'DELETE', path: path`/v1/webhooks/${id}`, ...options });
  }

  /**
   * Rotate the secret of a webhook.
   *
   * For 24 hours every message is signed with both secrets, the new one first. A second rotation within that time drops the oldest secret.
   *
   * `POST /v1/webhooks/{id}/rotate-secret`, by a user token with `webhooks:write`.
   */
  rotateWebhookSecret(id: string, options?: CallOptions): Promise<WebhookWithSecret> {
    return this.json<WebhookWithSecret>({
      method: 'POST',
      path: path`/v1/webhooks/${id}/rotate-secret`,
      ...options,
    });
  }

  /**
   * Send a test event to a webhook.
   *
   * Sends the event `webhook.test`, whatever the filters of the webhook.
   *
   * `POST /v1/webhooks/{id}/test`, by a user token with `webhooks:write`.
   */
  testWebhook(id: string, options?: CallOptions): Promise<Delivery> {
    return this.json<Delivery>({ method: 'POST', path: path`/v1/webhooks/${id}/test`, ...options });
  }

  /**
   * List the deliveries of a webhook.
   *
   * Newest first. They are kept for 30 days.
   *
   * `GET /v1/webhooks/{id}/deliveries`, by a user token with `webhooks:read`.
   */
  listDeliveries(
    id: string,
    query: ListDeliveriesQuery = {},
    options?: CallOptions,
  ): PagePromise<Delivery> {
    return this.pages<Delivery>({
      method: 'GET',
      path: path`/v1/webhooks/${id}/deliveries`,
      query,
      ...options,
    });
  }

  /**
   * Get a delivery with its attempts.
   *
   * `GET /v1/webhooks/{id}/deliveries/{delivery_id}`, by a user token with `webhooks:read`.
   */
  getDelivery(id: string, deliveryId: string, options?: CallOptions): Promise<DeliveryDetail> {
    return this.json<DeliveryDetail>({
      method: 'GET',
      path: path`/v1/webhooks/${id}/deliveries/${deliveryId}`,
      ...options,
    });
  }

  /**
   * Send a delivery again.
   *
   * As a new delivery with the same `webhook-id`.
   *
   * `POST /v1/webhooks/{id}/deliveries/{delivery_id}/redeliver`, by a user token with `webhooks:write`.
   */
  redeliver(id: string, deliveryId: string, options?: CallOptions): Promise<Delivery> {
    return this.json<Delivery>({
      method: 'POST',
      path: path`/v1/webhooks/${id}/deliveries/${deliveryId}/redeliver`,
      ...options,
    });
  }

  /**
   * Create a channel.
   *
   * It notifies people of the events from now on: by e-mail those who can decide a request, and the owner of its agent when it is decided; in Slack the channels that it names. There people decide too, once the Slack app sends what they do to `inbound_url`. No answer shows the secrets of the app.
   *
   * `POST /v1/channels`, by a user token with `channels:write`.
   */
  createChannel(body: ChannelCreation, options?: CallOptions): Promise<Channel> {
    return this.json<Channel>({ method: 'POST', path: path`/v1/channels`, body, ...options });
  }

  /**
   * List channels.
   *
   * Newest first.
   *
   * `GET /v1/channels`, by a user token with `channels:read`.
   */
  listChannels(query: ListChannelsQuery = {}, options?: CallOptions): PagePromise<Channel> {
    return this.pages<Channel>({ method: 'GET', path: path`/v1/channels`, query, ...options });
  }

  /**
   * Get a channel.
   *
   * `GET /v1/channels/{id}`, by a user token with `channels:read`.
   */
  getChannel(id: string, options?: CallOptions): Promise<Channel> {
    return this.json<Channel>({ method: 'GET', path: path`/v1/channels/${id}`, ...options });
  }

  /**
   * Change a channel.
   *
   * Changes the given fields. A disabled channel sends nothing more; when it is enabled again, it sends the events from then on.
   *
   * `PUT /v1/channels/{id}`, by a user token with `channels:write`.
   */
  updateChannel(id: string, body: ChannelUpdate, options?: CallOptions): Promise<Channel> {
    return this.json<Channel>({ method: 'PUT', path: path`/v1/channels/${id}`, body, ...options });
  }

  /**
   * Delete a channel.
   *
   * Deletes its deliveries too. It sends nothing more.
   *
   * `DELETE /v1/channels/{id}`, by a user token with `channels:write`.
   */
  deleteChannel(id: string, options?: CallOptions): Promise<void> {
    return this.empty({ method: 'DELETE', path: path`/v1/channels/${id}`, ...options });
  }

  /**
   * Send a test message by a channel.
   *
   * By e-mail to the member who asks, or to each of its Slack channels: then the answer is the delivery to the first of them. A test by e-mail fails, and `last_error` of its delivery says why, if a token of the account asks, or a member who has not confirmed the e-mail address.
   *
   * `POST /v1/channels/{id}/test`, by a user token with `channels:write`.
   */
  testChannel(id: string, options?: CallOptions): Promise<ChannelDelivery> {
    return this.json<ChannelDelivery>({
      method: 'POST',
      path: path`/v1/channels/${id}/test`,
      ...options,
    });
  }

  /**
   * List the messages by a channel.
   *
   * Newest first, one for each recipient. They are kept for 30 days.
   *
   * `GET /v1/channels/{id}/deliveries`, by a user token with `channels:read`.
   */
  listChannelDeliveries(
    id: string,
    query: ListChannelDeliveriesQuery = {},
    options?: CallOptions,
  ): PagePromise<ChannelDelivery> {
    return this.pages<ChannelDelivery>({
      method: 'GET',
      path: path`/v1/channels/${id}/deliveries`,
      query,
      ...options,
    });
  }

  /**
   * Get a message by a channel with its attempts.
   *
   * `GET /v1/channels/{id}/deliveries/{delivery_id}`, by a user token with `channels:read`.
   */
  getChannelDelivery(
    id: string,
    deliveryId: string,
    options?: CallOptions,
  ): Promise<ChannelDeliveryDetail> {
    return this.json<ChannelDeliveryDetail>({
      method: 'GET',
      path: path`/v1/channels/${id}/deliveries/${deliveryId}`,
      ...options,
    });
  }

  /**
   * Send a message by a channel again.
   *
   * As a new delivery to the same recipient. A message about a request that was decided meanwhile is not sent.
   *
   * `POST /v1/channels/{id}/deliveries/{delivery_id}/redeliver`, by a user token with `channels:write`.
   */
  redeliverByChannel(
    id: string,
    deliveryId: string,
    options?: CallOptions,
  ): Promise<ChannelDelivery> {
    return this.json<ChannelDelivery>({
      method: 'POST',
      path: path`/v1/channels/${id}/deliveries/${deliveryId}/redeliver`,
      ...options,
    });
  }

  /**
   * List who was notified of a permission.
   *
   * By which channel or device, when, and whether it was delivered; newest first. Messages are listed for 30 days.
   *
   * `GET /v1/permissions/{id}/notifications`, by a user token with `permissions:read`.
   */
  listNotifications(
    id: string,
    query: ListNotificationsQuery = {},
    options?: CallOptions,
  ): PagePromise<Notification> {
    return this.pages<Notification>({
      method: 'GET',
      path: path`/v1/permissions/${id}/notifications`,
      query,
      ...options,
    });
  }

  /**
   * Get your notification settings.
   *
   * A token of the account has none.
   *
   * `GET /v1/me/notifications`, by a user token with `account:read`.
   */
  getNotificationSettings(options?: CallOptions): Promise<NotificationSettings> {
    return this.json<NotificationSettings>({
      method: 'GET',
      path: path`/v1/me/notifications`,
      ...options,
    });
  }

  /**
   * Change your notification settings.
   *
   * Changes the given fields. A token of the account has no settings.
   *
   * `PUT /v1/me/notifications`, by a user token with `account:read`.
   */
  updateNotificationSettings(
    body: NotificationSettingsUpdate,
    options?: CallOptions,
  ): Promise<NotificationSettings> {
    return this.json<NotificationSettings>({
      method: 'PUT',
      path: path`/v1/me/notifications`,
      body,
      ...options,
    });
  }

  /**
   * End the notifications of a device of yours.
   *
   * Nothing more is sent to the device. To be notified on it again, subscribe on it in the console.
   *
   * `DELETE /v1/me/notifications/push/{id}`, by a user token with `account:read`.
   */
  removePushDevice(id: string, options?: CallOptions): Promise<void> {
    return this.empty({
      method: 'DELETE',
      path: path`/v1/me/notifications/push/${id}`,
      ...options,
    });
  }

  /**
   * Receive what a person did in Slack.
   *
   * The request URL for interactivity of a Slack app, which is the `inbound_url` of the channel. Slack sends a form of at most 64 KiB with the field `payload` and signs it: `X-Slack-Request-Timestamp` and `X-Slack-Signature`. Clicks on buttons and submitted modals of other apps are answered 200 and ignored.
   *
   * `POST /v1/inbound/{secret}/slack`.
   */
  receiveFromSlack(secret: string, options?: CallOptions): Promise<SlackResponse> {
    return this.json<SlackResponse>({
      method: 'POST',
      path: path`/v1/inbound/${secret}/slack`,
      ...options,
    });
  }

  /**
   * Create a connection.
   *
   * Keeps a credential, and lets agents call the other service without holding it. The first rule that matches a call says whether it is sent, needs a permission, or is refused.
   *
   * `POST /v1/connections`, by a user token with `connections:write`.
   */
  createConnection(body: ConnectionCreation, options?: CallOptions): Promise<Connection> {
    return this.json<Connection>({ method: 'POST', path: path`/v1/connections`, body, ...options });
  }

  /**
   * List connections.
   *
   * Newest first.
   *
   * `GET /v1/connections`, by a user token with `connections:read`.
   */
  listConnections(
    query: ListConnectionsQuery = {},
    options?: CallOptions,
  ): PagePromise<Connection> {
    return this.pages<Connection>({
      method: 'GET',
      path: path`/v1/connections`,
      query,
      ...options,
    });
  }

  /**
   * Get a connection.
   *
   * `GET /v1/connections/{id}`, by a user token with `connections:read`.
   */
  getConnection(id: string, options?: CallOptions): Promise<Connection> {
    return this.json<Connection>({ method: 'GET', path: path`/v1/connections/${id}`, ...options });
  }

  /**
   * Change a connection.
   *
   * Changes the given fields, but never the slug. A change of the origin of `base_url` needs the secret again. A connection that is switched off sends nothing more, and its pending requests are withdrawn for good.
   *
   * `PUT /v1/connections/{id}`, by a user token with `connections:write`.
   */
  updateConnection(id: string, body: ConnectionUpdate, options?: CallOptions): Promise<Connection> {
    return this.json<Connection>({
      method: 'PUT',
      path: path`/v1/connections/${id}`,
      body,
      ...options,
    });
  }

  /**
   * Delete a connection.
   *
   * Nothing more is sent, and its secret is gone. Requests that wait read as withdrawn from now on.
   *
   * `DELETE /v1/connections/{id}`, by a user token with `connections:write`.
   */
  deleteConnection(id: string, options?: CallOptions): Promise<void> {
    return this.empty({ method: 'DELETE', path: path`/v1/connections/${id}`, ...options });
  }

  /**
   * Test a connection.
   *
   * Reads a path of the other service with the credential, and says the status and the duration, never the body. No rule is asked, and no redirect is followed.
   *
   * `POST /v1/connections/{id}/test`, by a user token with `connections:write`.
   */
  testConnection(
    id: string,
    body: ConnectionTest,
    options?: CallOptions,
  ): Promise<ConnectionTestResult> {
    return this.json<ConnectionTestResult>({
      method: 'POST',
      path: path`/v1/connections/${id}/test`,
      body,
      ...options,
    });
  }

  /**
   * Count the reads of a connection.
   *
   * Calls that a rule allowed without a permission, by UTC day and agent, newest first. They are in no log.
   *
   * `GET /v1/connections/{id}/reads`, by a user token with `connections:read`.
   */
  getConnectionReads(
    id: string,
    query: GetConnectionReadsQuery = {},
    options?: CallOptions,
  ): Promise<ConnectionReads> {
    return this.json<ConnectionReads>({
      method: 'GET',
      path: path`/v1/connections/${id}/reads`,
      query,
      ...options,
    });
  }

  /**
   * Go to the console or the reference.
   *
   * A browser, which accepts `text/html`, goes to the console; a program goes to the reference.
   *
   * `GET /`.
   */
  showHome(options?: CallOptions): Promise<Response> {
    return this.response({ method: 'GET', path: path`/`, ...options });
  }

  /**
   * Go to the guides.
   *
   * `GET /docs/guides`.
   */
  findGuides(options?: CallOptions): Promise<Response> {
    return this.response({ method: 'GET', path: path`/docs/guides`, ...options });
  }

  /**
   * List the guides.
   *
   * `GET /docs/guides/`.
   */
  listGuides(options?: CallOptions): Promise<Response> {
    return this.response({ method: 'GET', path: path`/docs/guides/`, ...options });
  }

  /**
   * Read a guide.
   *
   * `GET /docs/guides/{name}`.
   */
  showGuide(name: string, options?: CallOptions): Promise<Response> {
    return this.response({ method: 'GET', path: path`/docs/guides/${name}`, ...options });
  }

  /**
   * Read this reference.
   *
   * `GET /docs`.
   */
  showReference(options?: CallOptions): Promise<Response> {
    return this.response({ method: 'GET', path: path`/docs`, ...options });
  }

  /**
   * Get a file that the reference loads.
   *
   * `GET /docs/{version}/{file}`.
   */
  getReferenceFile(version: string, file: string, options?: CallOptions): Promise<Response> {
    return this.response({ method: 'GET', path: path`/docs/${version}/${file}`, ...options });
  }

  /**
   * Get this description.
   *
   * Pages of any origin may read it.
   *
   * `GET /openapi.json`.
   */
  getApiDescription(options?: CallOptions): Promise<GetApiDescriptionAnswer> {
    return this.json<GetApiDescriptionAnswer>({
      method: 'GET',
      path: path`/openapi.json`,
      ...options,
    });
  }
}
