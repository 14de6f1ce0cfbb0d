// Generated from the OpenAPI document by `npm run generate-client`. Do not edit.
export interface components {
  schemas: {
    /**
     * @example {
     *       "email": "owner@example.com",
     *       "name": "Example Ltd",
     *       "plan": "pro"
     *     }
     */
    AccountCreation: {
      /**
       * Format: idn-email
       * @description A dot-atom of RFC 5322 before the `@`, a public host name after it, whose U-labels become A-labels. Need not be unique.
       * @example owner@example.com
       */
      email: string;
      name?: string;
      /** @default free */
      plan?: components['schemas']['Plan'];
      /** @description For how many days audit entries are kept. Only the plan `enterprise` may set it. */
      audit_retention_days?: number;
    };
    /**
     * @description Decides for how many days audit entries are kept: `free` 7, `pro` 90, `team` 365, `enterprise` 2557. An account on the plan enterprise may choose fewer.
     * @enum {string}
     */
    Plan: 'free' | 'pro' | 'team' | 'enterprise';
    /**
     * @example {
     *       "plan": "enterprise",
     *       "audit_retention_days": 1095
     *     }
     */
    AccountUpdate: {
      /** @description null removes it. */
      name?: string | null;
      plan?: components['schemas']['Plan'];
      /** @description For how many days audit entries are kept. Only the plan `enterprise` may set it. */
      audit_retention_days?: number;
      is_active?: boolean;
      /** @description Whether the heads of its log are sent to the witnesses. */
      witnessed?: boolean;
      /** @description null resumes a stopped account. */
      stopped?: null;
    };
    /**
     * @example {
     *       "name": "Approvals",
     *       "scopes": [
     *         "permissions:read",
     *         "permissions:decide"
     *       ]
     *     }
     */
    UserTokenCreation: {
      name?: string;
      /** @description By default the scopes of the calling credential; for the operator, all scopes. */
      scopes?: components['schemas']['Scope'][];
      /**
       * Format: date-time
       * @description When the token expires. Must be in the future and not after the expiry of the calling credential. Defaults to that expiry; without one the token never expires.
       * @example 2126-01-31T12:00:00Z
       */
      expires_at?: string;
    };
    /**
     * @description What a user token may do.
     * @enum {string}
     */
    Scope:
      | 'agents:read'
      | 'agents:write'
      | 'permissions:read'
      | 'permissions:decide'
      | 'policies:read'
      | 'policies:write'
      | 'audit:read'
      | 'audit:export'
      | 'tokens:use'
      | 'webhooks:read'
      | 'webhooks:write'
      | 'account:read'
      | 'account:write'
      | 'channels:read'
      | 'channels:write'
      | 'connections:read'
      | 'connections:write';
    /**
     * @example {
     *       "email": "ada@example.com",
     *       "name": "Ada Lovelace"
     *     }
     */
    OwnerInvitation: {
      /**
       * Format: idn-email
       * @description A dot-atom of RFC 5322 before the `@`, a public host name after it, whose U-labels become A-labels. At most one member who is not removed has it, in upper or lower case.
       * @example ada@example.com
       */
      email: string;
      name?: string;
    };
    /**
     * @example {
     *       "reason": "The bot mails everybody"
     *     }
     */
    StopRequest: {
      /** @description Why, for everybody who reads it. */
      reason?: string;
    };
    /** @example {} */
    NoFields: Record<string, never>;
    /**
     * @example {
     *       "code": "c2hhcmQgMDAgYWNjb3VudCAxIG1lbWJlciBzZXNzaW9u",
     *       "code_verifier": "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk",
     *       "redirect_uri": "http://127.0.0.1:49152/callback"
     *     }
     */
    PairingExchange: {
      /** @description The `code` with which the browser came to `redirect_uri`. */
      code: string;
      /** @description The PKCE code verifier (RFC 7636) whose SHA-256 is the `code_challenge`. */
      code_verifier: string;
      /** @description The same as in the address of the console. */
      redirect_uri: string;
    };
    /**
     * @example {
     *       "email": "ada@example.com",
     *       "name": "Ada Lovelace",
     *       "role": "approver"
     *     }
     */
    MemberInvitation: {
      /**
       * Format: idn-email
       * @description A dot-atom of RFC 5322 before the `@`, a public host name after it, whose U-labels become A-labels. At most one member who is not removed has it, in upper or lower case.
       * @example ada@example.com
       */
      email: string;
      name?: string;
      role: components['schemas']['MemberRole'];
    };
    /**
     * @description What a member may do. `owner`: everything. `admin`: everything, except to invite, change or remove an owner. `approver`: read, and decide requests. `developer`: register agents and webhooks, use tokens. `auditor`: read and export.
     * @enum {string}
     */
    MemberRole: 'owner' | 'admin' | 'approver' | 'developer' | 'auditor';
    /**
     * @description `invited` until the invitation is accepted. The credentials of a `suspended` or `removed` member are refused.
     * @enum {string}
     */
    MemberStatus: 'invited' | 'active' | 'suspended' | 'removed';
    /**
     * @example {
     *       "role": "auditor"
     *     }
     */
    MemberUpdate: {
      /** @description null removes it. */
      name?: string | null;
      role?: components['schemas']['MemberRole'];
      /**
       * @description A suspended member has no access. Suspending ends the tokens and sessions of the member for good.
       * @enum {string}
       */
      status?: 'active' | 'suspended';
    };
    /**
     * @example {
     *       "name": "Mail assistant",
     *       "description": "Answers the support mailbox",
     *       "metadata": {
     *         "team": "support"
     *       }
     *     }
     */
    AgentCreation: {
      name: string;
      description?: string;
      /**
       * @description Free-form data, returned unchanged. At most 16 KiB of compact JSON and 10 levels, including itself.
       * @default {}
       */
      metadata?: {
        [key: string]: unknown;
      };
      /**
       * @description The active member who is responsible for it; by default the one who registers it.
       * @example member_01m7x1m1tre75vaz5yvpbmvt6m
       */
      owner_id?: string;
    };
    /**
     * @example {
     *       "description": null,
     *       "metadata": {
     *         "team": "sales"
     *       }
     *     }
     */
    AgentUpdate: {
      name?: string;
      description?: string | null;
      /** @description Free-form data, returned unchanged. At most 16 KiB of compact JSON and 10 levels, including itself. */
      metadata?: {
        [key: string]: unknown;
      };
      is_active?: boolean;
      /**
       * @description The active member who is responsible for it from now on.
       * @example member_01m7x1m1tre75vaz5yvpbmvt6m
       */
      owner_id?: string;
    };
    /**
     * @example {
     *       "grace_period": 3600
     *     }
     */
    KeyRotation: {
      /**
       * @description For how many seconds the replaced key keeps working; 0 ends all older keys now.
       * @default 86400
       */
      grace_period?: number;
      /**
       * @description Like a `grace_period` of 0.
       * @default false
       */
      revoke_immediately?: boolean;
    };
    /**
     * @example {
     *       "action": "email.send",
     *       "resource": "mailbox:support",
     *       "scope": {
     *         "max_recipients": 50
     *       },
     *       "reason": "Reply to ticket 4711"
     *     }
     */
    PermissionRequest: {
      /**
       * @description What the agent wants to do: dotted words.
       * @example email.send
       */
      action: string;
      /**
       * @description The resource it wants to do this to: `<kind>:<identifier>`. The identifier has no blank at an end, and no invisible or blank character but the space.
       * @example mailbox:support
       */
      resource: string;
      /**
       * @description Upper limits: the largest number allowed, or the list of members allowed. At most 2 KiB of compact JSON and 10 levels, including itself.
       * @default {}
       */
      scope?: {
        [key: string]: unknown;
      };
      reason?: string;
      /**
       * @description Seconds after which it expires if nobody decides.
       * @default 3600
       */
      expires_in?: number;
      /**
       * @description The greatest lifetime of the token, in seconds.
       * @default 900
       */
      token_ttl?: number;
      /**
       * @description The greatest number of uses of the token.
       * @default 1
       */
      max_uses?: number;
      series?: components['schemas']['SeriesInput'];
      /**
       * @description The arguments of the act: any JSON value of at most 16 KiB. A person sees it before deciding.
       * @example {
       *       "to": "ada@example.com",
       *       "subject": "Your invoice"
       *     }
       */
      input?: unknown;
      /** @description The digest of the arguments, if these stay private: `sha-256:` and the SHA-256 of their canonical JSON (RFC 8785) in base64url. Together with `input` it has to agree. */
      input_digest?: string;
      preview?: components['schemas']['Preview'];
      /**
       * @description The agent's own name for this request, such as the id of a tool call. The same request with the same name is answered 200 with the existing permission, for as long as the permission exists.
       * @example call_01HZY3
       */
      external_id?: string;
      /**
       * @description Whether the program will report what happened after the use. Only with a `max_uses` of 1.
       * @default false
       */
      reports_outcome?: boolean;
    };
    /**
     * @description A run of like acts: requests of the same agent for the same action, resource and scope. Nobody sees the arguments of the later ones before they are approved.
     * @example {
     *       "requests": 20,
     *       "expires_in": 3600,
     *       "varies": [
     *         "max_amount"
     *       ]
     *     }
     */
    SeriesInput: {
      /** @description The number of requests, the first one included. */
      requests: number;
      /** @description Seconds after the approval in which it approves requests. */
      expires_in: number;
      /**
       * @description Keys of `scope` whose values may be lower or narrower than those of the first permission. All others have to be equal.
       * @default []
       */
      varies?: string[];
    };
    /**
     * @description What a person reads before deciding: plain text in the agent's own words. At most 16 KiB of compact JSON.
     * @example {
     *       "title": "Reply to ticket 4711",
     *       "fields": [
     *         {
     *           "label": "To",
     *           "value": "ada@example.com",
     *           "kind": "email",
     *           "of": "/to"
     *         }
     *       ],
     *       "blocks": [
     *         {
     *           "kind": "text",
     *           "text": "Dear Ada, your invoice is attached."
     *         }
     *       ]
     *     }
     */
    Preview: {
      title: string;
      summary?: string;
      fields?: {
        label: string;
        value: string;
        /** @enum {string} */
        kind?: 'text' | 'money' | 'email' | 'url' | 'count' | 'time';
        /** @description The argument that the field restates, as a JSON Pointer (RFC 6901) into `input`. Who decides sees whether it does. */
        of?: string;
      }[];
      blocks?: {
        title?: string;
        /** @enum {string} */
        kind: 'text' | 'code' | 'json' | 'diff';
        text: string;
      }[];
    };
    /** @enum {string} */
    PermissionStatus: 'pending' | 'approved' | 'denied' | 'expired';
    /**
     * @example {
     *       "scope": {
     *         "max_recipients": 10
     *       },
     *       "reason": "Ten are enough"
     *     }
     */
    Approval: {
      reason?: string;
      /** @description Upper limits: the largest number allowed, or the list of members allowed. At most 2 KiB of compact JSON and 10 levels, including itself. */
      scope?: {
        [key: string]: unknown;
      };
      /** @description The greatest lifetime of the token, in seconds. */
      token_ttl?: number;
      /** @description The greatest number of uses of the token. */
      max_uses?: number;
      series?: components['schemas']['SeriesInput'];
      /** @description The signature of the statement by a passkey of the member who decides. */
      assertion?: components['schemas']['AuthenticationResponse'];
      /**
       * Format: date-time
       * @description `signed_at` of the statement.
       * @example 2026-01-31T12:00:00.000Z
       */
      signed_at?: string;
    };
    /** @description What `navigator.credentials.get` gave, in the JSON form of WebAuthn Level 3 section 5.1. */
    AuthenticationResponse: {
      id: string;
      rawId: string;
      /** @constant */
      type: 'public-key';
      response: {
        clientDataJSON: string;
        authenticatorData: string;
        signature: string;
        userHandle?: string | null;
      } & {
        [key: string]: unknown;
      };
      /** @default {} */
      clientExtensionResults?: {
        [key: string]: unknown;
      };
    } & {
      [key: string]: unknown;
    };
    /**
     * @example {
     *       "reason": "Not to this customer"
     *     }
     */
    Denial: {
      reason?: string;
      /** @description The signature of the statement by a passkey of the member who decides. */
      assertion?: components['schemas']['AuthenticationResponse'];
      /**
       * Format: date-time
       * @description `signed_at` of the statement.
       * @example 2026-01-31T12:00:00.000Z
       */
      signed_at?: string;
    };
    /**
     * @example {
     *       "decision": "approve",
     *       "reason": "Ten are enough"
     *     }
     */
    StatementRequest: {
      /** @enum {string} */
      decision: 'approve' | 'deny';
      reason?: string;
      /** @description Upper limits: the largest number allowed, or the list of members allowed. At most 2 KiB of compact JSON and 10 levels, including itself. */
      scope?: {
        [key: string]: unknown;
      };
      /** @description The greatest lifetime of the token, in seconds. */
      token_ttl?: number;
      /** @description The greatest number of uses of the token. */
      max_uses?: number;
      series?: components['schemas']['SeriesInput'];
    };
    /**
     * @example {
     *       "status": "succeeded",
     *       "summary": "Sent to 3 people"
     *     }
     */
    OutcomeReport: {
      /**
       * @description `failed`: the program saw an error; something may have happened all the same. `unknown`: it does not know.
       * @enum {string}
       */
      status: 'succeeded' | 'failed' | 'unknown';
      /** @description What happened, in a few words. */
      summary?: string;
    };
    /**
     * @example {
     *       "token": "eyJhbGciOiJFZERTQSIsInR5cCI6ImF0K2p3dCJ9.eyJqdGkiOiJ0b2tlbl8wMW03eCJ9.RWQyNTUxOSBzaWduYXR1cmU",
     *       "action": "email.send",
     *       "resource": "mailbox:support"
     *     }
     */
    TokenUse: {
      /**
       * @description The token itself.
       * @example eyJhbGciOiJFZERTQSIsInR5cCI6ImF0K2p3dCJ9.eyJqdGkiOiJ0b2tlbl8wMW03eCJ9.RWQyNTUxOSBzaWduYXR1cmU
       */
      token: string;
      /** @description If given, must be the token's. */
      action?: string;
      /** @description If given, must be the token's. */
      resource?: string;
      /** @description The digest of what is about to run. Must be given if the token has one, and only then. */
      input_digest?: string;
    };
    /**
     * @example {
     *       "token": "eyJhbGciOiJFZERTQSIsInR5cCI6ImF0K2p3dCJ9.eyJqdGkiOiJ0b2tlbl8wMW03eCJ9.RWQyNTUxOSBzaWduYXR1cmU"
     *     }
     * @example {
     *       "token_id": "token_01m7x1m1tre75vaz5yvpbmvt6m",
     *       "reason": "No longer needed"
     *     }
     */
    TokenRevocation: {
      /**
       * @description The token itself.
       * @example eyJhbGciOiJFZERTQSIsInR5cCI6ImF0K2p3dCJ9.eyJqdGkiOiJ0b2tlbl8wMW03eCJ9.RWQyNTUxOSBzaWduYXR1cmU
       */
      token?: string;
      /**
       * @description The kind of the token (RFC 7009). Accepted and ignored.
       * @example access_token
       */
      token_type_hint?: string;
      /**
       * @description Id of the token.
       * @example token_01m7x1m1tre75vaz5yvpbmvt6m
       */
      token_id?: string;
      reason?: string;
    } & (unknown | unknown);
    /**
     * @example {
     *       "token": "eyJhbGciOiJFZERTQSIsInR5cCI6ImF0K2p3dCJ9.eyJqdGkiOiJ0b2tlbl8wMW03eCJ9.RWQyNTUxOSBzaWduYXR1cmU"
     *     }
     */
    TokenIntrospection: {
      /**
       * @description The token itself.
       * @example eyJhbGciOiJFZERTQSIsInR5cCI6ImF0K2p3dCJ9.eyJqdGkiOiJ0b2tlbl8wMW03eCJ9.RWQyNTUxOSBzaWduYXR1cmU
       */
      token: string;
      /**
       * @description The kind of the token (RFC 7009). Accepted and ignored.
       * @example access_token
       */
      token_type_hint?: string;
    };
    /**
     * @example {
     *       "name": "Small mailings",
     *       "effect": "approve",
     *       "actions": [
     *         "email.*"
     *       ],
     *       "resources": [
     *         "mailbox:*"
     *       ],
     *       "agent_ids": null,
     *       "conditions": {
     *         "max_recipients": {
     *           "max": 50
     *         }
     *       },
     *       "token_ttl": 300,
     *       "max_uses": null,
     *       "reason": "Few recipients",
     *       "priority": 0,
     *       "is_active": true,
     *       "budget": {
     *         "per": "day",
     *         "requests": 100
     *       },
     *       "expires_at": null
     *     }
     */
    PolicyCreation: {
      name: string;
      effect: components['schemas']['PolicyEffect'];
      /**
       * @description At least one pattern must match. In a pattern, `*` stands for any characters; one that can match nothing is refused. At most 8192 bytes of JSON together.
       * @example [
       *       "email.*"
       *     ]
       */
      actions: string[];
      /**
       * @description At least one pattern must match. In a pattern, `*` stands for any characters; one that can match nothing is refused. At most 8192 bytes of JSON together.
       * @example [
       *       "mailbox:*"
       *     ]
       */
      resources: string[];
      /** @description The agents that it applies to; null for all. */
      agent_ids?: string[] | null;
      /**
       * @description The conditions on keys of the scope; empty for none. At most 16 KiB of compact JSON and 10 levels, including itself.
       * @default {}
       */
      conditions?: {
        [key: string]: components['schemas']['PolicyCondition'];
      };
      /** @description The greatest lifetime, in seconds, of the tokens of requests that it approves or sends to reviewers; null for no limit beyond the request. */
      token_ttl?: number | null;
      /** @description The greatest number of uses of the tokens of requests that it approves or sends to reviewers; null for no limit beyond the request. */
      max_uses?: number | null;
      /** @description The reason given for its decisions. Reviewers give their own. */
      reason?: string | null;
      /**
       * @description If several approvals and reviews apply, the one of highest priority decides; of equal ones, a review before an approval, and then the oldest. The same holds for several denials.
       * @default 0
       */
      priority?: number;
      /** @default true */
      is_active?: boolean;
      /** @description Who reviews the requests, only for the effect `review`; null for one approval by anybody who may decide. */
      review?: components['schemas']['ReviewInput'] | null;
      /** @description How much it approves, only for the effect `approve`; null for no limit. A change of `per` or `key` restarts the count. */
      budget?: components['schemas']['PolicyBudget'] | null;
      /** @description From when on it does not apply, only for the effect `approve`; in the future when it is set. Null for never. */
      expires_at?: string | null;
    };
    /** @enum {string} */
    PolicyEffect: 'approve' | 'deny' | 'review';
    /**
     * @description Reviewers are the named members and the members with a named role; without either, all who may decide.
     * @example {
     *       "approvals": 2,
     *       "roles": [
     *         "approver"
     *       ]
     *     }
     */
    ReviewInput: {
      /**
       * @description How many people have to approve.
       * @default 1
       */
      approvals?: number;
      members?: string[] | null;
      roles?: components['schemas']['MemberRole'][] | null;
      /**
       * @description Whether the agent's owner may approve.
       * @default false
       */
      allow_self?: boolean;
      /**
       * @description Whether every approval has to be signed with a passkey.
       * @default false
       */
      passkey?: boolean;
      /** @description Who becomes a reviewer too, so many seconds after the request. */
      escalation?: {
        /** @description Seconds. */
        after: number;
        members?: string[] | null;
        roles?: components['schemas']['MemberRole'][] | null;
      } | null;
    };
    /**
     * @description How much a policy approves: requests, a sum, or both.
     * @example {
     *       "per": "day",
     *       "requests": 100,
     *       "sum": {
     *         "key": "amount",
     *         "max": 500
     *       }
     *     }
     */
    PolicyBudget: {
      /**
       * @description The time that the budget is for, in UTC; `total` for all time.
       * @enum {string}
       */
      per: 'total' | 'hour' | 'day' | 'month';
      /** @description How many requests it approves. */
      requests?: number;
      /** @description What may be spent together: of each approval, the granted value of the key times the granted `max_uses`. A value other than a number from 0 to 999999999.999999 with at most 6 decimals does not fit. */
      sum?: {
        /** @description The key of the scope. */
        key: string;
        /** @description The most: a number from 0 to 999999999.999999 with at most 6 decimals. */
        max: number;
      };
    };
    /**
     * @example {
     *       "agent_id": "agent_01m7x1m1tre75vaz5yvpbmvt6m",
     *       "action": "email.send",
     *       "resource": "mailbox:support",
     *       "scope": {
     *         "max_recipients": 50
     *       }
     *     }
     */
    PolicySimulation: {
      /**
       * @description Without it, policies for certain agents do not apply.
       * @example agent_01m7x1m1tre75vaz5yvpbmvt6m
       */
      agent_id?: string;
      /**
       * @description What the agent wants to do: dotted words.
       * @example email.send
       */
      action: string;
      /**
       * @description The resource it wants to do this to: `<kind>:<identifier>`. The identifier has no blank at an end, and no invisible or blank character but the space.
       * @example mailbox:support
       */
      resource: string;
      /**
       * @description Upper limits: the largest number allowed, or the list of members allowed. At most 2 KiB of compact JSON and 10 levels, including itself.
       * @default {}
       */
      scope?: {
        [key: string]: unknown;
      };
    };
    /**
     * @example {
     *       "policy": {
     *         "name": "Small mailings",
     *         "effect": "approve",
     *         "actions": [
     *           "email.*"
     *         ],
     *         "resources": [
     *           "mailbox:*"
     *         ],
     *         "agent_ids": null,
     *         "conditions": {
     *           "max_recipients": {
     *             "max": 50
     *           }
     *         },
     *         "token_ttl": 300,
     *         "max_uses": null,
     *         "reason": "Few recipients",
     *         "priority": 0,
     *         "is_active": true,
     *         "budget": {
     *           "per": "day",
     *           "requests": 100
     *         },
     *         "expires_at": null
     *       },
     *       "days": 7
     *     }
     */
    PolicyReplay: {
      policy: components['schemas']['PolicyCreation'];
      /**
       * @description How many days back the requests may have been made.
       * @default 30
       */
      days?: number;
    };
    /**
     * @example {
     *       "is_active": false
     *     }
     */
    PolicyUpdate: {
      name?: string;
      effect?: components['schemas']['PolicyEffect'];
      /**
       * @description At least one pattern must match. In a pattern, `*` stands for any characters; one that can match nothing is refused. At most 8192 bytes of JSON together.
       * @example [
       *       "email.*"
       *     ]
       */
      actions?: string[];
      /**
       * @description At least one pattern must match. In a pattern, `*` stands for any characters; one that can match nothing is refused. At most 8192 bytes of JSON together.
       * @example [
       *       "mailbox:*"
       *     ]
       */
      resources?: string[];
      /** @description The agents that it applies to; null for all. */
      agent_ids?: string[] | null;
      /** @description The conditions on keys of the scope; empty for none. At most 16 KiB of compact JSON and 10 levels, including itself. */
      conditions?: {
        [key: string]: components['schemas']['PolicyCondition'];
      };
      /** @description The greatest lifetime, in seconds, of the tokens of requests that it approves or sends to reviewers; null for no limit beyond the request. */
      token_ttl?: number | null;
      /** @description The greatest number of uses of the tokens of requests that it approves or sends to reviewers; null for no limit beyond the request. */
      max_uses?: number | null;
      /** @description The reason given for its decisions. Reviewers give their own. */
      reason?: string | null;
      /** @description If several approvals and reviews apply, the one of highest priority decides; of equal ones, a review before an approval, and then the oldest. The same holds for several denials. */
      priority?: number;
      is_active?: boolean;
      /** @description Who reviews the requests, only for the effect `review`; null for one approval by anybody who may decide. */
      review?: components['schemas']['ReviewInput'] | null;
      /** @description How much it approves, only for the effect `approve`; null for no limit. A change of `per` or `key` restarts the count. */
      budget?: components['schemas']['PolicyBudget'] | null;
      /** @description From when on it does not apply, only for the effect `approve`; in the future when it is set. Null for never. */
      expires_at?: string | null;
    };
    /**
     * @description What happened: a permission was requested, approved or denied; its token was used or revoked; an undecided request or an unused token expired.
     * @enum {string}
     */
    EventType: 'request' | 'approve' | 'deny' | 'use' | 'expire' | 'revoke';
    /** @enum {string} */
    ActivityAction:
      | 'agent.created'
      | 'agent.updated'
      | 'agent.deleted'
      | 'agent.key_rotated'
      | 'policy.created'
      | 'policy.updated'
      | 'policy.deleted'
      | 'webhook.created'
      | 'webhook.updated'
      | 'webhook.deleted'
      | 'webhook.secret_rotated'
      | 'user_token.created'
      | 'user_token.deleted'
      | 'export.requested'
      | 'export.downloaded'
      | 'report.requested'
      | 'report.downloaded'
      | 'account.updated'
      | 'member.invited'
      | 'member.joined'
      | 'member.updated'
      | 'member.removed'
      | 'session.created'
      | 'session.ended'
      | 'passkey.added'
      | 'passkey.removed'
      | 'permission.voted'
      | 'permission.escalated'
      | 'channel.created'
      | 'channel.updated'
      | 'channel.deleted'
      | 'slack_user.linked'
      | 'slack_user.unlinked'
      | 'notifications.updated'
      | 'passkey.counter_went_back'
      | 'account.stopped'
      | 'account.resumed'
      | 'series.ended'
      | 'connection.created'
      | 'connection.updated'
      | 'connection.deleted';
    /**
     * @example {
     *       "shard": "00",
     *       "restored_to": "2026-01-31T12:00:00.000Z"
     *     }
     */
    LogRestoration: {
      /** @description The shard whose database was restored. Logs on other shards are left as they are. */
      shard: string;
      /**
       * Format: date-time
       * @description The time to which the database was restored. Not in the future.
       */
      restored_to: string;
    };
    /**
     * @example {
     *       "url": "https://hooks.example.com/countersign",
     *       "description": "For the security team",
     *       "events": [
     *         "audit.created",
     *         "audit.export.completed"
     *       ]
     *     }
     */
    WebhookCreation: {
      /** @description Where events are sent: `https`, a public host name, no credentials. It is checked again before every delivery. */
      url: string;
      description?: string | null;
      /**
       * @description The events to send; by default all but those of permissions and of the account.
       * @default [
       *       "audit.created",
       *       "audit.export.completed",
       *       "audit.export.failed",
       *       "report.completed",
       *       "report.failed",
       *       "webhook.test"
       *     ]
       */
      events?: components['schemas']['WebhookEvent'][];
      /** @description The agents whose audit entries and permissions are sent; null for all. Other events have no agent. */
      agent_ids?: string[] | null;
      /** @default true */
      is_active?: boolean;
    };
    /**
     * @description What happened: an entry was written to the audit log; an export or a report completed or failed; a request waits for people, more people became its reviewers, it was decided, or it expired undecided; somebody stopped or resumed the account.
     * @enum {string}
     */
    WebhookEvent:
      | 'audit.created'
      | 'audit.export.completed'
      | 'audit.export.failed'
      | 'report.completed'
      | 'report.failed'
      | 'webhook.test'
      | 'permission.requested'
      | 'permission.escalated'
      | 'permission.decided'
      | 'permission.expired'
      | 'permission.outcome_missing'
      | 'account.stopped'
      | 'account.resumed';
    /**
     * @example {
     *       "events": [
     *         "audit.created"
     *       ],
     *       "is_active": true
     *     }
     */
    WebhookUpdate: {
      /** @description Where events are sent: `https`, a public host name, no credentials. It is checked again before every delivery. */
      url?: string;
      description?: string | null;
      events?: components['schemas']['WebhookEvent'][];
      /** @description The agents whose audit entries and permissions are sent; null for all. Other events have no agent. */
      agent_ids?: string[] | null;
      is_active?: boolean;
    };
    /** @enum {string} */
    DeliveryStatus: 'pending' | 'succeeded' | 'failed';
    /**
     * @example {
     *       "kind": "email",
     *       "name": "Mail to reviewers",
     *       "events": [
     *         "permission.requested",
     *         "permission.escalated"
     *       ]
     *     }
     */
    ChannelCreation:
      | {
          /** @constant */
          kind: 'email';
          name: string;
          /**
           * @description The events that are sent to people; all of them by default.
           * @default [
           *       "permission.requested",
           *       "permission.escalated",
           *       "permission.decided",
           *       "permission.expired",
           *       "permission.outcome_missing",
           *       "webhook.disabled",
           *       "account.stopped",
           *       "account.resumed"
           *     ]
           */
          events?: components['schemas']['ChannelEvent'][];
          filter?: components['schemas']['ChannelFilter'] | null;
          /** @default true */
          is_active?: boolean;
          /** @default {} */
          config?: components['schemas']['EmailConfig'];
        }
      | {
          /** @constant */
          kind: 'slack';
          name: string;
          /**
           * @description The events that are sent to people; all of them by default.
           * @default [
           *       "permission.requested",
           *       "permission.escalated",
           *       "permission.decided",
           *       "permission.expired",
           *       "permission.outcome_missing",
           *       "webhook.disabled",
           *       "account.stopped",
           *       "account.resumed"
           *     ]
           */
          events?: components['schemas']['ChannelEvent'][];
          filter?: components['schemas']['ChannelFilter'] | null;
          /** @default true */
          is_active?: boolean;
          config: components['schemas']['SlackConfig'];
        };
    /**
     * @description What happened: a request waits for people, more people became its reviewers, it was decided, it expired undecided, the service disabled a webhook, or somebody stopped or resumed the account.
     * @enum {string}
     */
    ChannelEvent:
      | 'permission.requested'
      | 'permission.escalated'
      | 'permission.decided'
      | 'permission.expired'
      | 'permission.outcome_missing'
      | 'webhook.disabled'
      | 'account.stopped'
      | 'account.resumed';
    /**
     * @description Limits the notifications to permissions of these agents, for actions that match a pattern. A list that is null or left out limits nothing.
     * @example {
     *       "actions": [
     *         "payment.*"
     *       ]
     *     }
     */
    ChannelFilter: {
      actions?: string[] | null;
      agent_ids?: string[] | null;
    };
    /** @example {} */
    EmailConfig: Record<string, never>;
    /**
     * @example {
     *       "bot_token": "xoxb-EXAMPLE-EXAMPLE-EXAMPLE",
     *       "signing_secret": "8f742231b10e8888abcd99yyyzzz85a5",
     *       "channels": [
     *         {
     *           "id": "C024BE91L",
     *           "filter": {
     *             "actions": [
     *               "email.*"
     *             ]
     *           }
     *         }
     *       ]
     *     }
     */
    SlackConfig: {
      /** @description The bot token of the Slack app. No answer shows it. */
      bot_token: string;
      /** @description The signing secret of the Slack app. No answer shows it. */
      signing_secret: string;
      channels: {
        /** @example C024BE91L */
        id: string;
        filter?: components['schemas']['ChannelFilter'] | null;
      }[];
    };
    /**
     * @example {
     *       "events": [
     *         "permission.requested"
     *       ],
     *       "is_active": true
     *     }
     */
    ChannelUpdate: {
      name?: string;
      events?: components['schemas']['ChannelEvent'][];
      filter?: components['schemas']['ChannelFilter'] | null;
      is_active?: boolean;
      /** @description The settings as at the creation of a channel of this kind; the kind itself never changes. What is left out stays as it is. With a new `bot_token` or `signing_secret`, Slack users have to be linked again. */
      config?: {
        [key: string]: unknown;
      };
    };
    /**
     * @example {
     *       "events": [
     *         "permission.requested",
     *         "permission.escalated"
     *       ],
     *       "quiet_hours": {
     *         "start": "22:00",
     *         "end": "07:00",
     *         "time_zone": "Europe/Berlin"
     *       }
     *     }
     */
    NotificationSettingsUpdate: {
      /** @description The channels that may send you messages; null for all. With an empty list none may. */
      channels?: string[] | null;
      /** @description The events that are sent to you; null for all. An empty list means none. Who may decide always gets the stop and the resume of the account, by every channel that sends them, whatever these settings say. */
      events?: components['schemas']['ChannelEvent'][] | null;
      /** @description The hours of every day in which you get no messages; null for none. Messages wait until these hours end, but for those about a disabled webhook, and about a stop or resume of the account. If the clocks show the start twice, the first one counts; if they show the end twice, the last one. A time that the clocks skip becomes the moment of the skip. */
      quiet_hours?: {
        /** @example 07:00 */
        start: string;
        /**
         * @description Not the same as `start`. An end before the start is on the next day.
         * @example 07:00
         */
        end: string;
        /**
         * @description A name of the IANA time zone database.
         * @example Europe/Berlin
         */
        time_zone: string;
      } | null;
      /** @description Another member who gets your messages instead of you; null for nobody. */
      delegate?: {
        /**
         * @description An active member, not yourself.
         * @example member_01m7x1m1tre75vaz5yvpbmvt6m
         */
        member_id: string;
        /** @description When the delegation starts; null for at once. */
        from?: string | null;
        /** @description The end, which must be after `from`; null for no end. */
        until?: string | null;
      } | null;
    };
    /**
     * @example {
     *       "name": "Stripe",
     *       "base_url": "https://api.stripe.com",
     *       "auth": {
     *         "type": "header",
     *         "header": "Authorization",
     *         "prefix": "Bearer "
     *       },
     *       "secret": "sk_test_26PHem9AhJZvU623DfE1x4sd",
     *       "rules": [
     *         {
     *           "methods": [
     *             "GET",
     *             "HEAD"
     *           ],
     *           "effect": "allow",
     *           "whole_input": false
     *         },
     *         {
     *           "methods": [
     *             "POST"
     *           ],
     *           "paths": [
     *             "/v1/refunds"
     *           ],
     *           "effect": "ask",
     *           "action": "refund.create",
     *           "resource": "payments:stripe",
     *           "scope": {
     *             "amount": "{amount}"
     *           },
     *           "title": "Refund {amount} of {payment_intent}",
     *           "whole_input": true
     *         }
     *       ],
     *       "agent_ids": [
     *         "agent_01m7x1m1tre75vaz5yvpbmvt6m"
     *       ]
     *     }
     */
    ConnectionCreation: {
      name: string;
      /** @description Where calls are sent: `https`, a public host name, no credentials, no query. The path of a call is appended to it. It is checked again before every call. */
      base_url: string;
      /**
       * @default {
       *       "type": "none"
       *     }
       */
      auth?: components['schemas']['ConnectionAuthInput'];
      /** @description The credential: what follows `prefix`, or `user:password` for `basic`. It is stored encrypted, and no answer shows it. A change of the origin of `base_url` needs it again. */
      secret?: string;
      /**
       * @description The first rule that matches a call counts. A call that matches no rule is refused.
       * @default []
       */
      rules?: components['schemas']['ConnectionRule'][];
      /** @description The agents that may call it. */
      agent_ids: string[];
      /**
       * @description The headers of the agent that are sent on. Not allowed are headers that hold a credential, frame the message or concern one connection only.
       * @default [
       *       "Accept",
       *       "Content-Type"
       *     ]
       */
      forward_headers?: string[];
      /**
       * @description Seconds that a call waits for a decision before it is answered.
       * @default 25
       */
      wait?: number;
      /**
       * @description Seconds in which the other service has to answer a call.
       * @default 60
       */
      timeout?: number;
      /**
       * @description Seconds for which a refused call is refused again, if it has no idempotency key.
       * @default 600
       */
      repeat_after?: number;
      /**
       * @description Nothing is sent while this is false.
       * @default true
       */
      is_active?: boolean;
      /** @description Its name in actions; by default made from `name`. It never changes. */
      slug?: string;
    };
    /**
     * @description How the credential is sent: not at all (`none`), as user and password (`basic`, RFC 7617), or in a header, behind a prefix (`header`).
     * @example {
     *       "type": "header",
     *       "header": "Authorization",
     *       "prefix": "Bearer "
     *     }
     */
    ConnectionAuthInput:
      | {
          /** @constant */
          type: 'none';
        }
      | {
          /** @constant */
          type: 'basic';
        }
      | {
          /** @constant */
          type: 'header';
          /** @default Authorization */
          header?: string;
          /** @default Bearer */
          prefix?: string;
        };
    /**
     * @description The way in which a connection treats the calls that match the rule.
     * @example {
     *       "methods": [
     *         "POST"
     *       ],
     *       "paths": [
     *         "/v1/refunds"
     *       ],
     *       "effect": "ask",
     *       "action": "refund.create",
     *       "resource": "payments:stripe",
     *       "scope": {
     *         "amount": "{amount}"
     *       },
     *       "title": "Refund {amount} of {payment_intent}",
     *       "whole_input": true
     *     }
     */
    ConnectionRule: {
      /** @description The methods that it matches; without it, every method. */
      methods?: ('GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE')[];
      /** @description Patterns of the path below `base_url`. One of them has to match; without any, every path does. `*` stands for any characters, `/` included. */
      paths?: string[];
      /**
       * @description `ask`: the call needs a permission. `allow`: it is sent without one, and only counted. `deny`: it is refused.
       * @enum {string}
       */
      effect: 'ask' | 'allow' | 'deny';
      /**
       * @description The action of the permission; by default the slug and the method, such as `github.post`.
       * @example email.send
       */
      action?: string;
      /**
       * @description The resource of the permission; by default `url:`, the host and the path.
       * @example mailbox:support
       */
      resource?: string;
      /** @description The scope of the permission: for each key a field of the body or the query. A key whose field is missing is left out. */
      scope?: {
        [key: string]: string;
      };
      /** @description The title of the preview, in which `{field}` stands for a field of the call. */
      title?: string;
      /** @description A series that every request of this rule asks for. */
      series?: components['schemas']['SeriesInput'];
      /**
       * @description Whether to refuse a call with an input of more than 16 KiB. People would see only its size and digest.
       * @default false
       */
      whole_input?: boolean;
    };
    /**
     * @example {
     *       "wait": 10,
     *       "is_active": true
     *     }
     */
    ConnectionUpdate: {
      name?: string;
      /** @description Where calls are sent: `https`, a public host name, no credentials, no query. The path of a call is appended to it. It is checked again before every call. */
      base_url?: string;
      auth?: components['schemas']['ConnectionAuthInput'];
      /** @description The credential: what follows `prefix`, or `user:password` for `basic`. It is stored encrypted, and no answer shows it. A change of the origin of `base_url` needs it again. */
      secret?: string;
      /** @description The first rule that matches a call counts. A call that matches no rule is refused. */
      rules?: components['schemas']['ConnectionRule'][];
      /** @description The agents that may call it. */
      agent_ids?: string[];
      /** @description The headers of the agent that are sent on. Not allowed are headers that hold a credential, frame the message or concern one connection only. */
      forward_headers?: string[];
      /** @description Seconds that a call waits for a decision before it is answered. */
      wait?: number;
      /** @description Seconds in which the other service has to answer a call. */
      timeout?: number;
      /** @description Seconds for which a refused call is refused again, if it has no idempotency key. */
      repeat_after?: number;
      /** @description Nothing is sent while this is false. */
      is_active?: boolean;
    };
    /**
     * @example {
     *       "path": "/v1/balance"
     *     }
     */
    ConnectionTest: {
      /**
       * @description The path below `base_url`, and a query if it has one. It is read with GET.
       * @example /v1/balance
       */
      path: string;
    };
    /**
     * @example {
     *       "status": "ok"
     *     }
     */
    Health: {
      /** @constant */
      status: 'ok';
    };
    /**
     * @description A new account, with its first user token, which has every scope, and its first owner.
     * @example {
     *       "id": "user_01m7x1m1tre75vaz5yvpbmvt6m",
     *       "email": "owner@example.com",
     *       "name": "Example Ltd",
     *       "plan": "pro",
     *       "audit_retention_days": 90,
     *       "is_active": true,
     *       "stopped": null,
     *       "witnessed": false,
     *       "created_at": "2026-01-31T12:00:00.000Z",
     *       "updated_at": "2026-01-31T12:00:00.000Z",
     *       "token": {
     *         "id": "utok_01m7x1m1tre75vaz5yvpbmvt6m",
     *         "name": "Approvals",
     *         "token_prefix": "csu_008tViZ1",
     *         "scopes": [
     *           "agents:read",
     *           "agents:write",
     *           "permissions:read",
     *           "permissions:decide",
     *           "policies:read",
     *           "policies:write",
     *           "audit:read",
     *           "audit:export",
     *           "tokens:use",
     *           "webhooks:read",
     *           "webhooks:write",
     *           "account:read",
     *           "account:write",
     *           "channels:read",
     *           "channels:write",
     *           "connections:read",
     *           "connections:write"
     *         ],
     *         "member_id": null,
     *         "expires_at": null,
     *         "last_used_at": null,
     *         "created_by": "operator",
     *         "created_at": "2026-01-31T12:00:00.000Z",
     *         "token": "csu_008tViZ1sMxLgpn3J1RJiuLyktiYJBiA2Y3LJuJ2"
     *       },
     *       "owner": {
     *         "id": "member_01m7x1m1tre75vaz5yvpbmvt6m",
     *         "email": "owner@example.com",
     *         "email_proven": true,
     *         "name": null,
     *         "role": "owner",
     *         "status": "invited",
     *         "sign_in": [],
     *         "last_seen_at": null,
     *         "created_at": "2026-01-31T12:00:00.000Z",
     *         "updated_at": "2026-01-31T12:00:00.000Z",
     *         "invitation": {
     *           "url": "https://countersign.example.com/console/invitations/csi_00m4QkV7tR2yXw9LpZ3sHc6JdN8bGf5TaE0r4k63",
     *           "expires_at": "2026-01-31T12:15:00.000Z"
     *         }
     *       }
     *     }
     */
    CreatedAccount: {
      /** @example user_01m7x1m1tre75vaz5yvpbmvt6m */
      id: string;
      email: string;
      name: string | null;
      plan: components['schemas']['Plan'];
      /** @description For how many days audit entries are kept. */
      audit_retention_days: number;
      /** @description While false, every credential of the account is refused. */
      is_active: boolean;
      /** @description Who stopped it, when and why; null if it is not stopped. */
      stopped: components['schemas']['Stop'] | null;
      /** @description Whether the heads of its log are sent to the witnesses of the deployment. */
      witnessed: boolean;
      /**
       * Format: date-time
       * @example 2026-01-31T12:00:00.000Z
       */
      created_at: string;
      /**
       * Format: date-time
       * @example 2026-01-31T12:00:00.000Z
       */
      updated_at: string;
      /** @description Belongs to the account, not to a member. */
      token: components['schemas']['CreatedUserToken'];
      /** @description The first owner, with an invitation to the address of the account. */
      owner: components['schemas']['InvitedMember'];
    };
    /**
     * @description The stop of an account: until it is resumed, nothing is requested, approved or used.
     * @example {
     *       "at": "2026-01-31T12:00:00.000Z",
     *       "by": "member_01m7x1m1tre75vaz5yvpbmvt6m",
     *       "reason": "The bot mails everybody"
     *     }
     */
    Stop: {
      /**
       * Format: date-time
       * @example 2026-01-31T12:00:00.000Z
       */
      at: string;
      /** @description Id of the member who stopped it, or of the account for its own user tokens. */
      by: string;
      reason: string | null;
    };
    /**
     * @description A new user token, with its secret.
     * @example {
     *       "id": "utok_01m7x1m1tre75vaz5yvpbmvt6m",
     *       "name": "Approvals",
     *       "token_prefix": "csu_008tViZ1",
     *       "scopes": [
     *         "permissions:read",
     *         "permissions:decide"
     *       ],
     *       "member_id": null,
     *       "expires_at": null,
     *       "last_used_at": null,
     *       "created_by": "operator",
     *       "created_at": "2026-01-31T12:00:00.000Z",
     *       "token": "csu_008tViZ1sMxLgpn3J1RJiuLyktiYJBiA2Y3LJuJ2"
     *     }
     */
    CreatedUserToken: {
      /** @example utok_01m7x1m1tre75vaz5yvpbmvt6m */
      id: string;
      name: string | null;
      /** @description The first characters of the token. */
      token_prefix: string;
      scopes: components['schemas']['Scope'][];
      /** @description Whom it belongs to; null for a token of the account itself. */
      member_id: string | null;
      /** @description When it expires; null if it never does. */
      expires_at: string | null;
      /** @description To the minute; null before its first use. */
      last_used_at: string | null;
      /**
       * @description Who made it: the id of a member, the id of the account for a token of the account itself, or `operator`; null if it was made before this was recorded.
       * @example member_01m7x1m1tre75vaz5yvpbmvt6m
       */
      created_by: string | null;
      /**
       * Format: date-time
       * @example 2026-01-31T12:00:00.000Z
       */
      created_at: string;
      /** @description The token itself, shown only this once. */
      token: string;
    };
    /**
     * @description The invitation of a member, shown only this once.
     * @example {
     *       "url": "https://countersign.example.com/console/invitations/csi_00m4QkV7tR2yXw9LpZ3sHc6JdN8bGf5TaE0r4k63",
     *       "expires_at": "2026-01-31T12:15:00.000Z"
     *     }
     */
    Invitation: {
      /** @description The page at which the invited person joins. It works once. The person who opens it becomes the member. */
      url: string;
      /**
       * Format: date-time
       * @example 2026-01-31T12:00:00.000Z
       */
      expires_at: string;
    };
    /**
     * @description A new member, with the invitation.
     * @example {
     *       "id": "member_01m7x1m1tre75vaz5yvpbmvt6m",
     *       "email": "ada@example.com",
     *       "email_proven": false,
     *       "name": "Ada Lovelace",
     *       "role": "approver",
     *       "status": "invited",
     *       "sign_in": [],
     *       "last_seen_at": null,
     *       "created_at": "2026-01-31T12:00:00.000Z",
     *       "updated_at": "2026-01-31T12:00:00.000Z",
     *       "invitation": {
     *         "url": "https://countersign.example.com/console/invitations/csi_00m4QkV7tR2yXw9LpZ3sHc6JdN8bGf5TaE0r4k63",
     *         "expires_at": "2026-01-31T12:15:00.000Z"
     *       }
     *     }
     */
    InvitedMember: {
      /** @example member_01m7x1m1tre75vaz5yvpbmvt6m */
      id: string;
      /** @description Null if the identity provider gave no address. */
      email: string | null;
      /** @description Whether mail to the address is known to reach the member: the identity provider verified it, or the member confirmed it. Until then the member gets no mail but the one that asks for the confirmation. */
      email_proven: boolean;
      name: string | null;
      role: components['schemas']['MemberRole'];
      status: components['schemas']['MemberStatus'];
      /** @description How the member can sign in. */
      sign_in: ('passkey' | 'oidc')[];
      /** @description To the minute; null before the first request. */
      last_seen_at: string | null;
      /**
       * Format: date-time
       * @example 2026-01-31T12:00:00.000Z
       */
      created_at: string;
      /**
       * Format: date-time
       * @example 2026-01-31T12:00:00.000Z
       */
      updated_at: string;
      invitation: components['schemas']['Invitation'];
    };
    /**
     * @description A user of the service. Agents, policies and the audit log belong to an account.
     * @example {
     *       "id": "user_01m7x1m1tre75vaz5yvpbmvt6m",
     *       "email": "owner@example.com",
     *       "name": "Example Ltd",
     *       "plan": "pro",
     *       "audit_retention_days": 90,
     *       "is_active": true,
     *       "stopped": null,
     *       "witnessed": false,
     *       "created_at": "2026-01-31T12:00:00.000Z",
     *       "updated_at": "2026-01-31T12:00:00.000Z"
     *     }
     */
    Account: {
      /** @example user_01m7x1m1tre75vaz5yvpbmvt6m */
      id: string;
      email: string;
      name: string | null;
      plan: components['schemas']['Plan'];
      /** @description For how many days audit entries are kept. */
      audit_retention_days: number;
      /** @description While false, every credential of the account is refused. */
      is_active: boolean;
      /** @description Who stopped it, when and why; null if it is not stopped. */
      stopped: components['schemas']['Stop'] | null;
      /** @description Whether the heads of its log are sent to the witnesses of the deployment. */
      witnessed: boolean;
      /**
       * Format: date-time
       * @example 2026-01-31T12:00:00.000Z
       */
      created_at: string;
      /**
       * Format: date-time
       * @example 2026-01-31T12:00:00.000Z
       */
      updated_at: string;
    };
    /**
     * @example {
     *       "status": "erasing"
     *     }
     */
    AccountErasure: {
      /** @constant */
      status: 'erasing';
    };
    /**
     * @description Your account, and who you are in it.
     * @example {
     *       "id": "user_01m7x1m1tre75vaz5yvpbmvt6m",
     *       "email": "owner@example.com",
     *       "name": "Example Ltd",
     *       "plan": "pro",
     *       "audit_retention_days": 90,
     *       "is_active": true,
     *       "stopped": null,
     *       "witnessed": false,
     *       "created_at": "2026-01-31T12:00:00.000Z",
     *       "updated_at": "2026-01-31T12:00:00.000Z",
     *       "member": {
     *         "id": "member_01m7x1m1tre75vaz5yvpbmvt6m",
     *         "email": "ada@example.com",
     *         "email_proven": true,
     *         "name": "Ada Lovelace",
     *         "role": "approver",
     *         "status": "active",
     *         "sign_in": [
     *           "passkey"
     *         ],
     *         "last_seen_at": "2026-01-31T12:00:00.000Z",
     *         "created_at": "2026-01-31T12:00:00.000Z",
     *         "updated_at": "2026-01-31T12:00:00.000Z"
     *       },
     *       "scopes": [
     *         "account:read",
     *         "permissions:decide"
     *       ]
     *     }
     */
    OwnAccount: {
      /** @example user_01m7x1m1tre75vaz5yvpbmvt6m */
      id: string;
      email: string;
      name: string | null;
      plan: components['schemas']['Plan'];
      /** @description For how many days audit entries are kept. */
      audit_retention_days: number;
      /** @description While false, every credential of the account is refused. */
      is_active: boolean;
      /** @description Who stopped it, when and why; null if it is not stopped. */
      stopped: components['schemas']['Stop'] | null;
      /** @description Whether the heads of its log are sent to the witnesses of the deployment. */
      witnessed: boolean;
      /**
       * Format: date-time
       * @example 2026-01-31T12:00:00.000Z
       */
      created_at: string;
      /**
       * Format: date-time
       * @example 2026-01-31T12:00:00.000Z
       */
      updated_at: string;
      /** @description The member who calls; null for a token of the account itself. */
      member: components['schemas']['Member'] | null;
      /** @description What the credential allows now: its scopes, limited by the role. */
      scopes: components['schemas']['Scope'][];
    };
    /**
     * @description A person of the account.
     * @example {
     *       "id": "member_01m7x1m1tre75vaz5yvpbmvt6m",
     *       "email": "ada@example.com",
     *       "email_proven": true,
     *       "name": "Ada Lovelace",
     *       "role": "approver",
     *       "status": "active",
     *       "sign_in": [
     *         "passkey"
     *       ],
     *       "last_seen_at": "2026-01-31T12:00:00.000Z",
     *       "created_at": "2026-01-31T12:00:00.000Z",
     *       "updated_at": "2026-01-31T12:00:00.000Z"
     *     }
     */
    Member: {
      /** @example member_01m7x1m1tre75vaz5yvpbmvt6m */
      id: string;
      /** @description Null if the identity provider gave no address. */
      email: string | null;
      /** @description Whether mail to the address is known to reach the member: the identity provider verified it, or the member confirmed it. Until then the member gets no mail but the one that asks for the confirmation. */
      email_proven: boolean;
      name: string | null;
      role: components['schemas']['MemberRole'];
      status: components['schemas']['MemberStatus'];
      /** @description How the member can sign in. */
      sign_in: ('passkey' | 'oidc')[];
      /** @description To the minute; null before the first request. */
      last_seen_at: string | null;
      /**
       * Format: date-time
       * @example 2026-01-31T12:00:00.000Z
       */
      created_at: string;
      /**
       * Format: date-time
       * @example 2026-01-31T12:00:00.000Z
       */
      updated_at: string;
    };
    /**
     * @description Whether your account is stopped.
     * @example {
     *       "stopped": {
     *         "at": "2026-01-31T12:00:00.000Z",
     *         "by": "member_01m7x1m1tre75vaz5yvpbmvt6m",
     *         "reason": "The bot mails everybody"
     *       }
     *     }
     */
    StopState: {
      stopped: components['schemas']['Stop'] | null;
    };
    /**
     * @description A user token, without its secret.
     * @example {
     *       "id": "utok_01m7x1m1tre75vaz5yvpbmvt6m",
     *       "name": "Approvals",
     *       "token_prefix": "csu_008tViZ1",
     *       "scopes": [
     *         "permissions:read",
     *         "permissions:decide"
     *       ],
     *       "member_id": null,
     *       "expires_at": null,
     *       "last_used_at": null,
     *       "created_by": "operator",
     *       "created_at": "2026-01-31T12:00:00.000Z"
     *     }
     */
    UserToken: {
      /** @example utok_01m7x1m1tre75vaz5yvpbmvt6m */
      id: string;
      name: string | null;
      /** @description The first characters of the token. */
      token_prefix: string;
      scopes: components['schemas']['Scope'][];
      /** @description Whom it belongs to; null for a token of the account itself. */
      member_id: string | null;
      /** @description When it expires; null if it never does. */
      expires_at: string | null;
      /** @description To the minute; null before its first use. */
      last_used_at: string | null;
      /**
       * @description Who made it: the id of a member, the id of the account for a token of the account itself, or `operator`; null if it was made before this was recorded.
       * @example member_01m7x1m1tre75vaz5yvpbmvt6m
       */
      created_by: string | null;
      /**
       * Format: date-time
       * @example 2026-01-31T12:00:00.000Z
       */
      created_at: string;
    };
    /**
     * @description A session of the console.
     * @example {
     *       "id": "session_01m7x1m1tre75vaz5yvpbmvt6m",
     *       "token_id": null,
     *       "ip_address": "203.0.113.7",
     *       "user_agent": "Mozilla/5.0",
     *       "last_seen_at": "2026-01-31T12:00:00.000Z",
     *       "expires_at": "2026-01-31T12:15:00.000Z",
     *       "created_at": "2026-01-31T12:00:00.000Z"
     *     }
     */
    Session: {
      /** @example session_01m7x1m1tre75vaz5yvpbmvt6m */
      id: string;
      /** @description The user token with which it was started, and with which it ends; null after another sign-in. */
      token_id: string | null;
      /** @description The address of the sign-in. */
      ip_address: string;
      user_agent: string;
      /**
       * Format: date-time
       * @description To the minute.
       * @example 2026-01-31T12:00:00.000Z
       */
      last_seen_at: string;
      /**
       * Format: date-time
       * @description When it ends if it is not used until then.
       * @example 2026-01-31T12:00:00.000Z
       */
      expires_at: string;
      /**
       * Format: date-time
       * @description When the sign-in was.
       * @example 2026-01-31T12:00:00.000Z
       */
      created_at: string;
    };
    /**
     * @description A passkey of a member.
     * @example {
     *       "id": "mYnWbTgmYbNLRwHKQyTjnw",
     *       "name": "Laptop",
     *       "public_key": "pQECAyYgASFYIPzQ1yxnVZh9nYGmT8cQ1pNsRrGk4CbSYfYYp3k2mWJ8IlggZ1yLQfvBqk0fYB3b8jvZ9vKQ0zv1Q6r0oYk2p5s3d4w",
     *       "added_at": "2026-01-31T12:00:00.000Z",
     *       "removed_at": null
     *     }
     */
    Passkey: {
      /** @description The credential id, in base64url. */
      id: string;
      name: string;
      /** @description The public key: a COSE_Key (RFC 9052), in base64url. */
      public_key: string;
      /**
       * Format: date-time
       * @example 2026-01-31T12:00:00.000Z
       */
      added_at: string;
      removed_at: string | null;
    };
    /**
     * @example {
     *       "id": "member_01m7x1m1tre75vaz5yvpbmvt6m",
     *       "email": "ada@example.com",
     *       "email_proven": true,
     *       "name": "Ada Lovelace",
     *       "role": "approver",
     *       "status": "active",
     *       "sign_in": [
     *         "passkey"
     *       ],
     *       "last_seen_at": "2026-01-31T12:00:00.000Z",
     *       "created_at": "2026-01-31T12:00:00.000Z",
     *       "updated_at": "2026-01-31T12:00:00.000Z",
     *       "leaves": {
     *         "webhooks": [
     *           "webhook_01m7x1m1tre75vaz5yvpbmvt6m"
     *         ],
     *         "channels": [],
     *         "connections": [],
     *         "policies": [
     *           "policy_01m7x1m1tre75vaz5yvpbmvt6m"
     *         ],
     *         "tokens": []
     *       },
     *       "passkeys": [
     *         {
     *           "id": "mYnWbTgmYbNLRwHKQyTjnw",
     *           "name": "Laptop",
     *           "public_key": "pQECAyYgASFYIPzQ1yxnVZh9nYGmT8cQ1pNsRrGk4CbSYfYYp3k2mWJ8IlggZ1yLQfvBqk0fYB3b8jvZ9vKQ0zv1Q6r0oYk2p5s3d4w",
     *           "added_at": "2026-01-31T12:00:00.000Z",
     *           "removed_at": null
     *         }
     *       ]
     *     }
     */
    MemberDetails: {
      /** @example member_01m7x1m1tre75vaz5yvpbmvt6m */
      id: string;
      /** @description Null if the identity provider gave no address. */
      email: string | null;
      /** @description Whether mail to the address is known to reach the member: the identity provider verified it, or the member confirmed it. Until then the member gets no mail but the one that asks for the confirmation. */
      email_proven: boolean;
      name: string | null;
      role: components['schemas']['MemberRole'];
      status: components['schemas']['MemberStatus'];
      /** @description How the member can sign in. */
      sign_in: ('passkey' | 'oidc')[];
      /** @description To the minute; null before the first request. */
      last_seen_at: string | null;
      /**
       * Format: date-time
       * @example 2026-01-31T12:00:00.000Z
       */
      created_at: string;
      /**
       * Format: date-time
       * @example 2026-01-31T12:00:00.000Z
       */
      updated_at: string;
      leaves: components['schemas']['MemberLeaves'];
      /** @description All passkeys, also removed ones. Only with the scope `audit:read`. */
      passkeys?: components['schemas']['Passkey'][];
    };
    /**
     * @description Ids of what the member created that is kept when the member is removed.
     * @example {
     *       "webhooks": [
     *         "webhook_01m7x1m1tre75vaz5yvpbmvt6m"
     *       ],
     *       "channels": [],
     *       "connections": [],
     *       "policies": [
     *         "policy_01m7x1m1tre75vaz5yvpbmvt6m"
     *       ],
     *       "tokens": []
     *     }
     */
    MemberLeaves: {
      webhooks: string[];
      channels: string[];
      connections: string[];
      policies: string[];
      /** @description Tokens of the account itself. */
      tokens: string[];
    };
    /**
     * @description A new agent, with its key.
     * @example {
     *       "id": "agent_01m7x1m1tre75vaz5yvpbmvt6m",
     *       "name": "Mail assistant",
     *       "description": "Answers the support mailbox",
     *       "api_key_prefix": "csa_00DAEY1q",
     *       "metadata": {
     *         "team": "support"
     *       },
     *       "is_active": true,
     *       "owner_id": "member_01m7x1m1tre75vaz5yvpbmvt6m",
     *       "created_at": "2026-01-31T12:00:00.000Z",
     *       "updated_at": "2026-01-31T12:00:00.000Z",
     *       "api_key": "csa_00DAEY1qzkZImONKQuwvxBDS9629UQFCzG2M1zjX"
     *     }
     */
    CreatedAgent: {
      /** @example agent_01m7x1m1tre75vaz5yvpbmvt6m */
      id: string;
      name: string;
      /** @description Absent if the agent has none. */
      description?: string;
      /** @description The first characters of its newest key. */
      api_key_prefix: string;
      /** @description Free-form data. */
      metadata: {
        [key: string]: unknown;
      };
      /** @description While false, its keys are refused and its tokens cannot be used. */
      is_active: boolean;
      /** @description The member who is responsible for it, at first the one who registered it. */
      owner_id: string | null;
      /**
       * Format: date-time
       * @example 2026-01-31T12:00:00.000Z
       */
      created_at: string;
      /**
       * Format: date-time
       * @example 2026-01-31T12:00:00.000Z
       */
      updated_at: string;
      /** @description The key itself, shown only this once. */
      api_key: string;
    };
    /**
     * @description A program that may request permissions.
     * @example {
     *       "id": "agent_01m7x1m1tre75vaz5yvpbmvt6m",
     *       "name": "Mail assistant",
     *       "description": "Answers the support mailbox",
     *       "api_key_prefix": "csa_00DAEY1q",
     *       "metadata": {
     *         "team": "support"
     *       },
     *       "is_active": true,
     *       "owner_id": "member_01m7x1m1tre75vaz5yvpbmvt6m",
     *       "last_activity_at": "2026-01-31T12:00:00.000Z",
     *       "created_at": "2026-01-31T12:00:00.000Z",
     *       "updated_at": "2026-01-31T12:00:00.000Z"
     *     }
     */
    Agent: {
      /** @example agent_01m7x1m1tre75vaz5yvpbmvt6m */
      id: string;
      name: string;
      /** @description Absent if the agent has none. */
      description?: string;
      /** @description The first characters of its newest key. */
      api_key_prefix: string;
      /** @description Free-form data. */
      metadata: {
        [key: string]: unknown;
      };
      /** @description While false, its keys are refused and its tokens cannot be used. */
      is_active: boolean;
      /** @description The member who is responsible for it, at first the one who registered it. */
      owner_id: string | null;
      /** @description When it last sent a request, to the minute; null before its first. */
      last_activity_at: string | null;
      /**
       * Format: date-time
       * @example 2026-01-31T12:00:00.000Z
       */
      created_at: string;
      /**
       * Format: date-time
       * @example 2026-01-31T12:00:00.000Z
       */
      updated_at: string;
    };
    /**
     * @example {
     *       "id": "agent_01m7x1m1tre75vaz5yvpbmvt6m",
     *       "api_key": "csa_00DAEY1qzkZImONKQuwvxBDS9629UQFCzG2M1zjX",
     *       "api_key_prefix": "csa_00DAEY1q",
     *       "old_key_expires_at": "2026-01-31T12:15:00.000Z"
     *     }
     */
    RotatedKey: {
      /** @example agent_01m7x1m1tre75vaz5yvpbmvt6m */
      id: string;
      /** @description The key itself, shown only this once. */
      api_key: string;
      api_key_prefix: string;
      /**
       * Format: date-time
       * @description When the replaced key stops working.
       * @example 2026-01-31T12:00:00.000Z
       */
      old_key_expires_at: string;
    };
    /**
     * @example {
     *       "period": "30d",
     *       "total_requests": 12,
     *       "approved_requests": 8,
     *       "denied_requests": 2,
     *       "pending_requests": 1,
     *       "expired_requests": 1,
     *       "tokens_issued": 8,
     *       "tokens_used": 7,
     *       "tokens_revoked": 1,
     *       "avg_approval_time_ms": 41250.5
     *     }
     */
    AgentStatistics: {
      /** @description The requested period. */
      period: string;
      /** @description Requests made in the period: the sum of the next four counts. */
      total_requests: number;
      approved_requests: number;
      denied_requests: number;
      pending_requests: number;
      /** @description Requests that nobody decided in time. */
      expired_requests: number;
      tokens_issued: number;
      /** @description Tokens whose first use was in the period. */
      tokens_used: number;
      tokens_revoked: number;
      /** @description Mean milliseconds from request to approval; 0 when nothing was approved. */
      avg_approval_time_ms: number;
    };
    /**
     * @description An agent's request to do one thing, and the decision.
     * @example {
     *       "id": "perm_01m7x1m1tre75vaz5yvpbmvt6m",
     *       "agent_id": "agent_01m7x1m1tre75vaz5yvpbmvt6m",
     *       "action": "email.send",
     *       "resource": "mailbox:support",
     *       "scope": {
     *         "max_recipients": 50
     *       },
     *       "granted_scope": {
     *         "max_recipients": 10
     *       },
     *       "reason": "Reply to ticket 4711",
     *       "status": "approved",
     *       "decided_by": "user_01m7x1m1tre75vaz5yvpbmvt6m",
     *       "decided_at": "2026-01-31T12:00:00.000Z",
     *       "decision_reason": "Ten are enough",
     *       "policy_id": null,
     *       "token": {
     *         "id": "token_01m7x1m1tre75vaz5yvpbmvt6m",
     *         "status": "active",
     *         "max_uses": 1,
     *         "uses": 0,
     *         "expires_at": "2026-01-31T12:15:00.000Z"
     *       },
     *       "expires_at": "2026-01-31T13:00:00.000Z",
     *       "created_at": "2026-01-31T12:00:00.000Z",
     *       "updated_at": "2026-01-31T12:00:00.000Z",
     *       "title": "Reply to ticket 4711",
     *       "input_digest": null,
     *       "preview_digest": "sha-256:vEwZ3m5w4oMZuWJlIrW3ZXK2n6NcHHYx1hNhWkCVYlM",
     *       "external_id": null,
     *       "connection_id": null,
     *       "series": null,
     *       "granted_series": null,
     *       "review": null,
     *       "outcome": null
     *     }
     */
    Permission: {
      /** @example perm_01m7x1m1tre75vaz5yvpbmvt6m */
      id: string;
      /** @example agent_01m7x1m1tre75vaz5yvpbmvt6m */
      agent_id: string;
      action: string;
      resource: string;
      /** @description The limits that the agent requested. */
      scope: {
        [key: string]: unknown;
      };
      /** @description The limits that the approval granted. */
      granted_scope: {
        [key: string]: unknown;
      } | null;
      /** @description Why the agent asks. */
      reason: string | null;
      status: components['schemas']['PermissionStatus'];
      /** @description Id of the member or policy that decided, of the account for its own user tokens, or of the first permission of the series that approved it; null if nobody did. */
      decided_by: string | null;
      decided_at: string | null;
      decision_reason: string | null;
      /** @description The policy that decided; null if a person or nobody decided. */
      policy_id: string | null;
      /** @description Null unless it was approved. */
      token: components['schemas']['TokenSummary'] | null;
      /**
       * Format: date-time
       * @description When it expires if nobody decides.
       * @example 2026-01-31T12:00:00.000Z
       */
      expires_at: string;
      /**
       * Format: date-time
       * @example 2026-01-31T12:00:00.000Z
       */
      created_at: string;
      /**
       * Format: date-time
       * @example 2026-01-31T12:00:00.000Z
       */
      updated_at: string;
      /** @description The title of the preview. */
      title: string | null;
      /** @description The digest of the arguments of the act. */
      input_digest: string | null;
      /** @description The digest of the preview. */
      preview_digest: string | null;
      /** @description The agent's own name for the request. */
      external_id: string | null;
      /** @description The connection that made the request for the agent, and sends it once it is approved; null for a request of the agent itself. */
      connection_id: string | null;
      /** @description The run of like acts that the agent asked for. */
      series: components['schemas']['Series'] | null;
      /** @description The series that the approval gave: it approves the next requests that are like this one. */
      granted_series: components['schemas']['Series'] | null;
      /** @description How it is reviewed; null if no review policy applied: then one approval is enough. */
      review: components['schemas']['Review'] | null;
      /** @description Null before the use, and if the request did not say `reports_outcome`. */
      outcome: components['schemas']['Outcome'] | null;
      /** @description The arguments of the act; null if the request has none, or only their digest. Only in the answers that create or get one permission. */
      input?: unknown;
      /** @description What the agent wrote for the person who decides. Present as `input` is. */
      preview?: components['schemas']['Preview'] | null;
      /** @description How far the given series is; absent if none was given. Only in the answers that create or get one permission. */
      series_usage?: components['schemas']['SeriesUsage'];
    };
    /** @description The token of an approved permission. */
    TokenSummary: {
      /** @example token_01m7x1m1tre75vaz5yvpbmvt6m */
      id: string;
      status: components['schemas']['TokenStatus'];
      max_uses: number;
      uses: number;
      /**
       * Format: date-time
       * @example 2026-01-31T12:00:00.000Z
       */
      expires_at: string;
      /** @description The token itself, a JWT: only for its agent, while it is active and the account is not stopped. */
      value?: string;
    };
    /** @enum {string} */
    TokenStatus: 'active' | 'used' | 'expired' | 'revoked';
    /**
     * @example {
     *       "requests": 20,
     *       "expires_in": 3600,
     *       "varies": [
     *         "max_amount"
     *       ]
     *     }
     */
    Series: {
      /** @description The number of requests, the first one included. */
      requests: number;
      /** @description Seconds after the approval in which it approves requests. */
      expires_in: number;
      /** @description Keys of `scope` whose values may be lower or narrower. */
      varies: string[];
    };
    /**
     * @description How a review policy has the permission decided. To agents, only `approvals_required`, `escalates_at` and `short_of_reviewers` are shown.
     * @example {
     *       "approvals_required": 2,
     *       "escalates_at": null,
     *       "short_of_reviewers": false,
     *       "policy_id": "policy_01m7x1m1tre75vaz5yvpbmvt6m",
     *       "members": null,
     *       "roles": [
     *         "approver"
     *       ],
     *       "passkey": false,
     *       "allow_self": false,
     *       "proposal": {
     *         "scope": {
     *           "max_recipients": 10
     *         },
     *         "token_ttl": 900,
     *         "max_uses": 1
     *       },
     *       "escalated_at": null,
     *       "votes": []
     *     }
     */
    Review: {
      approvals_required: number;
      /** @description When more people become reviewers. */
      escalates_at: string | null;
      /** @description Whether it cannot be approved, because there are fewer reviewers than it needs. */
      short_of_reviewers: boolean;
      policy_id?: string | null;
      members?: string[] | null;
      roles?: components['schemas']['MemberRole'][] | null;
      passkey?: boolean;
      allow_self?: boolean;
      /** @description What the votes so far have left of the request. The last approval grants it. */
      proposal?: {
        scope: {
          [key: string]: unknown;
        };
        token_ttl: number;
        max_uses: number;
        /** @description Absent if the agent asked for none. */
        series?: components['schemas']['Series'] | null;
      };
      escalated_at?: string | null;
      votes?: components['schemas']['ReviewVote'][];
    };
    /** @description What one person decided. */
    ReviewVote: {
      /** @example member_01m7x1m1tre75vaz5yvpbmvt6m */
      by: string;
      name: string | null;
      /** @enum {string} */
      decision: 'approve' | 'deny';
      scope: {
        [key: string]: unknown;
      };
      token_ttl: number;
      max_uses: number;
      /** @description The series that it gives. */
      series?: components['schemas']['Series'];
      reason: string | null;
      /** @enum {string} */
      via: 'api' | 'console' | 'slack';
      /** @description Whether the voter signed it with a passkey. */
      signed: boolean;
      /**
       * Format: date-time
       * @example 2026-01-31T12:00:00.000Z
       */
      at: string;
    };
    /** @description What happened after the use, as the program says: nobody has checked it. `failed` means that the program saw an error, not that nothing happened; `unknown`, that it does not know, or did not report within 10 minutes. */
    Outcome: {
      status: components['schemas']['OutcomeStatus'];
      /** @description The program's own words. */
      summary: string | null;
      /** @description Null without a report. */
      reported_at: string | null;
      /** @description Id of the agent, the member or, for its own user tokens, the account that took the use and reported. */
      reported_by: string | null;
    };
    /** @enum {string} */
    OutcomeStatus: 'awaited' | 'unknown' | 'succeeded' | 'failed';
    /**
     * @example {
     *       "requests": 3,
     *       "expires_at": "2026-01-31T12:15:00.000Z",
     *       "ended_at": null
     *     }
     */
    SeriesUsage: {
      /** @description The requests that it has approved, the first one included. */
      requests: number;
      /**
       * Format: date-time
       * @example 2026-01-31T12:00:00.000Z
       */
      expires_at: string;
      /** @description When it ended, by its time, its number or otherwise; null while it is live. */
      ended_at: string | null;
    };
    /**
     * @example {
     *       "statement": {
     *         "type": "countersign/decision/v1",
     *         "origin": "https://countersign.example.com",
     *         "account_id": "user_01m7x1m1tre75vaz5yvpbmvt6m",
     *         "member_id": "member_01m7x1m1tre75vaz5yvpbmvt6m",
     *         "permission_id": "perm_01m7x1m1tre75vaz5yvpbmvt6m",
     *         "agent_id": "agent_01m7x1m1tre75vaz5yvpbmvt6m",
     *         "decision": "approve",
     *         "action": "email.send",
     *         "resource": "mailbox:support",
     *         "scope": {
     *           "max_recipients": 10
     *         },
     *         "token_ttl": 900,
     *         "max_uses": 1,
     *         "input_digest": null,
     *         "preview_digest": null,
     *         "reason": "Ten are enough",
     *         "signed_at": "2026-01-31T12:00:00.000Z"
     *       },
     *       "challenge": "x5VbUP4Hc8uNDDWl2gZ0EJ5nDpZ1g3YqkqmJ4rUu8mE",
     *       "options": {
     *         "challenge": "x5VbUP4Hc8uNDDWl2gZ0EJ5nDpZ1g3YqkqmJ4rUu8mE",
     *         "rpId": "countersign.example.com",
     *         "allowCredentials": [
     *           {
     *             "type": "public-key",
     *             "id": "mYnWbTgmYbNLRwHKQyTjnw"
     *           }
     *         ],
     *         "userVerification": "required",
     *         "timeout": 300000
     *       }
     *     }
     */
    Statement: {
      /** @description What the passkey signs. */
      statement: {
        type: string;
        origin: string;
        /** @example user_01m7x1m1tre75vaz5yvpbmvt6m */
        account_id: string;
        /** @example member_01m7x1m1tre75vaz5yvpbmvt6m */
        member_id: string;
        /** @example perm_01m7x1m1tre75vaz5yvpbmvt6m */
        permission_id: string;
        /** @example agent_01m7x1m1tre75vaz5yvpbmvt6m */
        agent_id: string;
        /** @enum {string} */
        decision: 'approve' | 'deny';
        action: string;
        resource: string;
        scope: {
          [key: string]: unknown;
        };
        token_ttl: number;
        max_uses: number;
        series?: components['schemas']['Series'];
        input_digest: string | null;
        preview_digest: string | null;
        reason: string | null;
        /**
         * Format: date-time
         * @example 2026-01-31T12:00:00.000Z
         */
        signed_at: string;
      };
      /** @description SHA-256 of the statement in canonical form (RFC 8785), in base64url. */
      challenge: string;
      /** @description Options for `navigator.credentials.get`, in JSON form. */
      options: {
        challenge: string;
        rpId: string;
        allowCredentials: {
          /** @constant */
          type: 'public-key';
          id: string;
        }[];
        /** @constant */
        userVerification: 'required';
        timeout: number;
      };
    };
    /**
     * @description What a use of the token allows.
     * @example {
     *       "active": true,
     *       "token_id": "token_01m7x1m1tre75vaz5yvpbmvt6m",
     *       "permission_id": "perm_01m7x1m1tre75vaz5yvpbmvt6m",
     *       "agent_id": "agent_01m7x1m1tre75vaz5yvpbmvt6m",
     *       "action": "email.send",
     *       "resource": "mailbox:support",
     *       "scope": {
     *         "max_recipients": 10
     *       },
     *       "uses": 1,
     *       "remaining_uses": 0,
     *       "expires_at": "2026-01-31T12:15:00.000Z"
     *     }
     */
    UsedToken: {
      /** @constant */
      active: true;
      /** @example token_01m7x1m1tre75vaz5yvpbmvt6m */
      token_id: string;
      /** @example perm_01m7x1m1tre75vaz5yvpbmvt6m */
      permission_id: string;
      /** @example agent_01m7x1m1tre75vaz5yvpbmvt6m */
      agent_id: string;
      action: string;
      resource: string;
      /** @description The limits to respect. */
      scope: {
        [key: string]: unknown;
      };
      /** @description The uses so far, including this one. */
      uses: number;
      remaining_uses: number;
      /**
       * Format: date-time
       * @example 2026-01-31T12:00:00.000Z
       */
      expires_at: string;
    };
    /** @example {} */
    Revocation: Record<string, never>;
    /**
     * @description The claims of a token that is active.
     * @example {
     *       "active": true,
     *       "token_type": "Bearer",
     *       "iss": "https://countersign.example.com",
     *       "aud": "https://countersign.example.com",
     *       "sub": "agent_01m7x1m1tre75vaz5yvpbmvt6m",
     *       "client_id": "agent_01m7x1m1tre75vaz5yvpbmvt6m",
     *       "iat": 1769860800,
     *       "exp": 1769861700,
     *       "jti": "token_01m7x1m1tre75vaz5yvpbmvt6m",
     *       "authorization_details": [
     *         {
     *           "type": "countersign",
     *           "action": "email.send",
     *           "resource": "mailbox:support",
     *           "scope": {
     *             "max_recipients": 10
     *           },
     *           "permission_id": "perm_01m7x1m1tre75vaz5yvpbmvt6m"
     *         }
     *       ]
     *     }
     */
    ActiveToken: {
      /** @constant */
      active: true;
      /** @constant */
      token_type: 'Bearer';
      /**
       * Format: uri
       * @description The service.
       */
      iss: string;
      /**
       * Format: uri
       * @description The service.
       */
      aud: string;
      /** @example agent_01m7x1m1tre75vaz5yvpbmvt6m */
      sub: string;
      /** @example agent_01m7x1m1tre75vaz5yvpbmvt6m */
      client_id: string;
      /** @description When it was issued, in seconds since the epoch. */
      iat: number;
      /** @description When it ends, in seconds since the epoch. */
      exp: number;
      /** @example token_01m7x1m1tre75vaz5yvpbmvt6m */
      jti: string;
      /** @description The permitted action, resource and limits (RFC 9396). */
      authorization_details: {
        /** @constant */
        type: 'countersign';
        action: string;
        resource: string;
        scope: {
          [key: string]: unknown;
        };
        /** @example perm_01m7x1m1tre75vaz5yvpbmvt6m */
        permission_id: string;
        /** @description The digest of the permitted input. Absent if the request had none. */
        input_digest?: string;
      }[];
    };
    /**
     * @description A token that is not active, whose agent is inactive or whose account is stopped, or that the caller may not see.
     * @example {
     *       "active": false
     *     }
     */
    InactiveToken: {
      /** @constant */
      active: false;
    };
    /**
     * @example {
     *       "keys": [
     *         {
     *           "kty": "OKP",
     *           "crv": "Ed25519",
     *           "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo",
     *           "kid": "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k",
     *           "use": "sig",
     *           "alg": "EdDSA"
     *         }
     *       ]
     *     }
     */
    KeySet: {
      /** @description The keys of tokens, newest first, then the keys of logs, newest first. */
      keys: components['schemas']['PublicKey'][];
    };
    /**
     * @example {
     *       "kty": "OKP",
     *       "crv": "Ed25519",
     *       "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo",
     *       "kid": "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k",
     *       "use": "sig",
     *       "alg": "EdDSA"
     *     }
     */
    PublicKey: {
      /** @constant */
      kty: 'OKP';
      /** @constant */
      crv: 'Ed25519';
      /** @description The key, in base64url. */
      x: string;
      /** @description Its JWK thumbprint (RFC 7638), with the prefix `log-` for keys of logs. The header of a token names its key. */
      kid: string;
      /** @constant */
      use: 'sig';
      /** @constant */
      alg: 'EdDSA';
    };
    /**
     * @example {
     *       "issuer": "https://countersign.example.com",
     *       "authorization_endpoint": "https://countersign.example.com/mcp/oauth/authorize",
     *       "token_endpoint": "https://countersign.example.com/mcp/oauth/token",
     *       "registration_endpoint": "https://countersign.example.com/mcp/oauth/register",
     *       "jwks_uri": "https://countersign.example.com/.well-known/jwks.json",
     *       "introspection_endpoint": "https://countersign.example.com/v1/tokens/introspect",
     *       "introspection_endpoint_auth_methods_supported": [
     *         "Bearer"
     *       ],
     *       "revocation_endpoint": "https://countersign.example.com/v1/tokens/revoke",
     *       "response_types_supported": [
     *         "none"
     *       ],
     *       "grant_types_supported": [
     *         "urn:countersign:grant-type:permission"
     *       ],
     *       "authorization_details_types_supported": [
     *         "countersign"
     *       ],
     *       "service_documentation": "https://countersign.example.com/docs/guides/mcp"
     *     }
     */
    ServerMetadata: {
      /** Format: uri */
      issuer: string;
      /** Format: uri */
      authorization_endpoint: string;
      /** Format: uri */
      token_endpoint: string;
      /** Format: uri */
      registration_endpoint: string;
      /** Format: uri */
      jwks_uri: string;
      /** Format: uri */
      introspection_endpoint: string;
      introspection_endpoint_auth_methods_supported: string[];
      /** Format: uri */
      revocation_endpoint: string;
      response_types_supported: string[];
      grant_types_supported: string[];
      authorization_details_types_supported: string[];
      /** Format: uri */
      service_documentation: string;
    };
    /**
     * @description A rule that decides requests at once, or sends them to reviewers. It applies if every part matches. Any denial that applies wins; otherwise the approval or review of highest priority; otherwise a person decides. Policies fail closed: if a key of the scope is missing or has another type, a denial or review applies and an approval does not; an approval with conditions must have one for every key of the scope.
     * @example {
     *       "id": "policy_01m7x1m1tre75vaz5yvpbmvt6m",
     *       "name": "Small mailings",
     *       "effect": "approve",
     *       "actions": [
     *         "email.*"
     *       ],
     *       "resources": [
     *         "mailbox:*"
     *       ],
     *       "agent_ids": null,
     *       "conditions": {
     *         "max_recipients": {
     *           "max": 50
     *         }
     *       },
     *       "token_ttl": 300,
     *       "max_uses": null,
     *       "reason": "Few recipients",
     *       "priority": 0,
     *       "is_active": true,
     *       "budget": {
     *         "per": "day",
     *         "requests": 100
     *       },
     *       "expires_at": null,
     *       "review": null,
     *       "usage": {
     *         "window_start": "2026-01-31T00:00:00.000Z",
     *         "requests": 12,
     *         "sum": 0
     *       },
     *       "created_by": "member_01m7x1m1tre75vaz5yvpbmvt6m",
     *       "created_at": "2026-01-31T12:00:00.000Z",
     *       "updated_at": "2026-01-31T12:00:00.000Z"
     *     }
     */
    Policy: {
      /** @example policy_01m7x1m1tre75vaz5yvpbmvt6m */
      id: string;
      name: string;
      effect: components['schemas']['PolicyEffect'];
      actions: string[];
      resources: string[];
      agent_ids: string[] | null;
      conditions: {
        [key: string]: components['schemas']['PolicyCondition'];
      };
      /** @description Seconds. */
      token_ttl: number | null;
      max_uses: number | null;
      reason: string | null;
      priority: number;
      is_active: boolean;
      /** @description Null unless the effect is `review`. */
      review: components['schemas']['ReviewRule'] | null;
      /** @description Null for no limit. */
      budget: components['schemas']['PolicyBudget'] | null;
      /** @description From when on it does not apply. */
      expires_at: string | null;
      /** @description What it has approved in the current window; null without a budget. */
      usage: components['schemas']['PolicyUsage'] | null;
      /**
       * @description Who made it: the id of a member, the id of the account for a token of the account itself, or `operator`; null if it was made before this was recorded.
       * @example member_01m7x1m1tre75vaz5yvpbmvt6m
       */
      created_by: string | null;
      /**
       * Format: date-time
       * @example 2026-01-31T12:00:00.000Z
       */
      created_at: string;
      /**
       * Format: date-time
       * @example 2026-01-31T12:00:00.000Z
       */
      updated_at: string;
    };
    /**
     * @description A policy's condition on one key of a request's scope; `{}` accepts any value.
     * @example {
     *       "max": 100
     *     }
     */
    PolicyCondition: {
      /** @description The smallest number allowed; not above `max`. */
      min?: number;
      /** @description The greatest number allowed. */
      max?: number;
      /** @description The only value allowed. */
      equals?: unknown;
      /** @description The values allowed. */
      in?: unknown[];
    };
    /** @description Who reviews a request, and how many have to approve. */
    ReviewRule: {
      approvals: number;
      members: string[] | null;
      roles: components['schemas']['MemberRole'][] | null;
      allow_self: boolean;
      passkey: boolean;
      escalation: {
        after: number;
        members: string[] | null;
        roles: components['schemas']['MemberRole'][] | null;
      } | null;
    };
    PolicyUsage: {
      /**
       * Format: date-time
       * @description When the current hour, day or month began; with `per: total`, when the count began.
       * @example 2026-01-31T12:00:00.000Z
       */
      window_start: string;
      /** @description The requests that it approved since. */
      requests: number;
      /** @description Their sum; 0 if the budget has none. */
      sum: number;
    };
    /**
     * @example {
     *       "decision": "approve",
     *       "policy_id": "policy_01m7x1m1tre75vaz5yvpbmvt6m",
     *       "matched": [
     *         "policy_01m7x1m1tre75vaz5yvpbmvt6m"
     *       ],
     *       "exhausted": []
     *     }
     */
    Simulation: {
      /** @enum {string} */
      decision: 'approve' | 'deny' | 'review' | 'pending';
      /** @description The policy that decides; null if none applies. */
      policy_id: string | null;
      /** @description Every policy that applies; the first one decides. */
      matched: string[];
      /** @description The policies that do not apply only because they have expired, or have no room in their budget for one use of this. */
      exhausted: string[];
      /** @description How many people may approve; the agent's owner counts only with `allow_self`. Only for the decision `review`. */
      reviewers?: number;
      /** @description How many of them have to approve. Present as `reviewers` is. */
      approvals?: number;
    };
    /**
     * @example {
     *       "requests": 3,
     *       "budget_ignored": true,
     *       "approve": 2,
     *       "deny": 0,
     *       "review": 0,
     *       "undecided": 1,
     *       "agrees": 1,
     *       "disagrees": [
     *         {
     *           "permission_id": "perm_01m7x1m1tre75vaz5yvpbmvt6m",
     *           "was": "denied",
     *           "would_be": "approve"
     *         }
     *       ],
     *       "complete": true
     *     }
     */
    Replay: {
      /** @description The requests that were evaluated: the newest 2,000 of that time. */
      requests: number;
      /**
       * @description Present where the policy has a budget: each request is evaluated as if there were room for it.
       * @constant
       */
      budget_ignored?: true;
      /** @description Requests that the policy would approve. */
      approve: number;
      /** @description Requests that the policy would deny. */
      deny: number;
      /** @description Requests that the policy would send to reviewers. */
      review: number;
      /** @description Requests to which the policy does not apply. */
      undecided: number;
      /** @description Decided requests that the policy would decide in the same way. */
      agrees: number;
      /** @description Decided requests that the policy would decide otherwise, newest first; at most 100. */
      disagrees: {
        /** @example perm_01m7x1m1tre75vaz5yvpbmvt6m */
        permission_id: string;
        was: components['schemas']['PermissionStatus'];
        /** @enum {string} */
        would_be: 'approve' | 'deny';
      }[];
      /** @description Whether these are all requests of that time. */
      complete: boolean;
    };
    /**
     * @description A step of a permission or of its token. Entries never change.
     * @example {
     *       "id": "audit_01m7x1m1tre75vaz5yvpbmvt6m",
     *       "sequence": 2,
     *       "user_id": "user_01m7x1m1tre75vaz5yvpbmvt6m",
     *       "agent_id": "agent_01m7x1m1tre75vaz5yvpbmvt6m",
     *       "permission_request_id": "perm_01m7x1m1tre75vaz5yvpbmvt6m",
     *       "event_type": "approve",
     *       "details": {
     *         "action": "email.send",
     *         "resource": "mailbox:support",
     *         "scope": {
     *           "max_recipients": 10
     *         },
     *         "decided_by": "user_01m7x1m1tre75vaz5yvpbmvt6m",
     *         "decision_reason": "Ten are enough",
     *         "policy_id": null,
     *         "token_id": "token_01m7x1m1tre75vaz5yvpbmvt6m"
     *       },
     *       "ip_address": "203.0.113.7",
     *       "user_agent": "mail-assistant/1.0",
     *       "created_at": "2026-01-31T12:00:00.000Z"
     *     }
     */
    AuditEntry: {
      /** @example audit_01m7x1m1tre75vaz5yvpbmvt6m */
      id: string;
      /** @description Position in the account's log, from 1. Erased entries leave gaps. */
      sequence: number;
      /**
       * @description The account.
       * @example user_01m7x1m1tre75vaz5yvpbmvt6m
       */
      user_id: string;
      /** @example agent_01m7x1m1tre75vaz5yvpbmvt6m */
      agent_id: string;
      /** @example perm_01m7x1m1tre75vaz5yvpbmvt6m */
      permission_request_id: string;
      event_type: components['schemas']['EventType'];
      details: components['schemas']['AuditDetails'];
      /** @description The address of the client; empty if the service caused the event. */
      ip_address: string;
      /** @description `countersign` if the service caused the event. */
      user_agent: string;
      /**
       * Format: date-time
       * @description Never earlier than in an entry with a lower sequence.
       * @example 2026-01-31T12:00:00.000Z
       */
      created_at: string;
    };
    AuditDetails: {
      action: string;
      resource: string;
      /** @description The granted limits; before the approval, the requested ones. */
      scope: {
        [key: string]: unknown;
      } | null;
      /** @description Id of the member, policy or agent that decided or revoked; of the account for its own user tokens; of the first permission for an approval by a series. */
      decided_by: string | null;
      /**
       * @description How the decision came; present in entries of approvals, denials and revocations.
       * @enum {string}
       */
      decided_via?: 'api' | 'console' | 'slack' | 'policy' | 'series';
      decision_reason: string | null;
      /** @description The policy that decided; null if none did. */
      policy_id: string | null;
      /** @description The digest of the input; in entries of requests, of their decisions, and of reviews that ended without one. */
      input_digest?: string | null;
      /** @description The digest of the preview; present as `input_digest` is. */
      preview_digest?: string | null;
      /**
       * @description Present if the event concerns a token.
       * @example token_01m7x1m1tre75vaz5yvpbmvt6m
       */
      token_id?: string;
      /**
       * @description What expired, or that the request was withdrawn: by its agent, or because its connection was switched off or deleted. Present in entries of expiries.
       * @enum {string}
       */
      expired?: 'request' | 'token' | 'withdrawn';
      /** @description Who has to approve, and how; present in the entry of a request that a review policy routed. */
      review?: components['schemas']['ReviewRule'];
      /** @description The votes of the review, the oldest first; also the decision itself if it is signed. */
      votes?: components['schemas']['EntryVote'][];
      /**
       * @description The policy that sent the request to reviewers; in its entry and in that of its end.
       * @example policy_01m7x1m1tre75vaz5yvpbmvt6m
       */
      review_policy_id?: string;
      /** @description The series that the approval gave; absent if it gave none. */
      granted_series?: components['schemas']['Series'];
      /** @description In the entry of an approval by a series: its first permission, and the members who gave it. */
      series?: {
        /** @example perm_01m7x1m1tre75vaz5yvpbmvt6m */
        permission_id: string;
        given_by: string[];
      };
    };
    /** @description A vote in a review. */
    EntryVote: {
      /** @example member_01m7x1m1tre75vaz5yvpbmvt6m */
      by: string;
      /** @enum {string} */
      decision: 'approve' | 'deny';
      /** @description Absent if it is that of the vote before or, for the first vote, of the request. */
      scope?: {
        [key: string]: unknown;
      };
      token_ttl: number;
      max_uses: number;
      /** @description The series that the vote gives. */
      series?: components['schemas']['Series'];
      reason: string | null;
      /** @enum {string} */
      via: 'api' | 'console' | 'slack';
      signed: boolean;
      /**
       * Format: date-time
       * @example 2026-01-31T12:00:00.000Z
       */
      at: string;
      /** @description The signature of the decision statement by a passkey, in base64url. */
      signature?: {
        credential_id: string;
        /**
         * Format: date-time
         * @example 2026-01-31T12:00:00.000Z
         */
        signed_at: string;
        authenticator_data: string;
        client_data_json: string;
        signature: string;
      };
    };
    /**
     * @example {
     *       "data": [
     *         {
     *           "start": "2026-01-01T00:00:00.000Z",
     *           "entries": 12
     *         },
     *         {
     *           "start": "2026-01-16T12:00:00.000Z",
     *           "entries": 0
     *         }
     *       ]
     *     }
     */
    AuditHistogram: {
      data: {
        /**
         * Format: date-time
         * @description Bucket i of n, from 0, starts at start + i × (end − start) ÷ n, rounded to milliseconds.
         * @example 2026-01-31T12:00:00.000Z
         */
        start: string;
        /** @description Entries from this time until the start of the next bucket. */
        entries: number;
      }[];
    };
    /**
     * @description A file of audit entries, made in the background. The API shows the export for 90 days.
     * @example {
     *       "export_id": "export_01m7x1m1tre75vaz5yvpbmvt6m",
     *       "status": "processing",
     *       "format": "csv",
     *       "start_date": "2026-01-01",
     *       "end_date": "2026-01-31",
     *       "agent_id": null,
     *       "event_types": [
     *         "approve",
     *         "deny"
     *       ],
     *       "action": null,
     *       "resource": null,
     *       "decided_by": null,
     *       "scope_key": null,
     *       "scope_min": null,
     *       "scope_max": null,
     *       "include_details": false,
     *       "bom": false,
     *       "download_url": null,
     *       "expires_at": null,
     *       "sha256": null,
     *       "error": null,
     *       "created_at": "2026-01-31T12:00:00.000Z"
     *     }
     */
    AuditExport: {
      /** @example export_01m7x1m1tre75vaz5yvpbmvt6m */
      export_id: string;
      /** @enum {string} */
      format: 'csv' | 'json' | 'parquet';
      /** @description As it was written. */
      start_date: string;
      /** @description As it was written, or the end of the day of the request if that was earlier. */
      end_date: string;
      agent_id: string | null;
      event_types: ('request' | 'approve' | 'deny' | 'use' | 'expire' | 'revoke')[] | null;
      action: string | null;
      resource: string | null;
      decided_by: string | null;
      scope_key: string | null;
      scope_min: number | null;
      scope_max: number | null;
      include_details: boolean;
      bom: boolean;
      row_count?: number;
      sha256: string | null;
      /** @enum {string} */
      status: 'processing' | 'completed' | 'failed' | 'expired';
      /** @description Where the file is; needs no credential. Null while there is nothing to download. */
      download_url: string | null;
      /** @description When the file can no longer be downloaded. */
      expires_at: string | null;
      file_size_bytes?: number;
      /** @description The code of the error; null if the file did not fail. */
      error: string | null;
      /**
       * Format: date-time
       * @example 2026-01-31T12:00:00.000Z
       */
      created_at: string;
      /**
       * Format: date-time
       * @example 2026-01-31T12:00:00.000Z
       */
      completed_at?: string;
      /** @description URL of the proof that the entries are in the log under a signed head. Needs no credential. Null while there is nothing to download, or if the export has no proof. Only for exports with details in JSON or Parquet. */
      proof_url?: string | null;
      /** @description Why a completed export has no proof: `log_refused` if the log in the database is inconsistent with its signed heads. Null otherwise. Present if `proof_url` is. */
      proof_error?: 'log_refused' | null;
    };
    /**
     * @example {
     *       "origin": "countersign.example.com/user_01m7x1m1tre75vaz5yvpbmvt6m",
     *       "tree_size": 2,
     *       "root_hash": "f2ca1bb6c7e907d06dafe4687e579fce76b37e4e93b7605022da52e6ccc26fd2",
     *       "timestamp": "2026-01-31T12:00:00.000Z",
     *       "note": "countersign.example.com/user_01m7x1m1tre75vaz5yvpbmvt6m\n2\n8sobtsfpB9Btr+Roflefznazfk6Tt2BQItpS5szCb9I=\ntime 2026-01-31T12:00:00.000Z\n\n— countersign.example.com/user_01m7x1m1tre75vaz5yvpbmvt6m 7cIWo0Yg2bW3yS0n1y7h1mJ0m5C0m0pQyG9fDkq5hZ2cV8yqfY3nqk1o2jQfM5xqWc3m2kq0y1b8n4tP6sH0Ag2J4Aw=\n"
     *     }
     */
    NamedCheckpoint: {
      /** @description The log's name: the host of the service and the account. */
      origin: string;
      /** @description Entries under it: those with the sequences from 1 to this. */
      tree_size: number;
      /**
       * @description SHA-256, in hexadecimal.
       * @example f2ca1bb6c7e907d06dafe4687e579fce76b37e4e93b7605022da52e6ccc26fd2
       */
      root_hash: string;
      /**
       * Format: date-time
       * @description When it was sealed.
       * @example 2026-01-31T12:00:00.000Z
       */
      timestamp: string;
      /** @description The same, signed with Ed25519: a note of https://c2sp.org/signed-note in the form of https://c2sp.org/tlog-checkpoint, with the time as an extension line. The key is at `/.well-known/jwks.json`, with a `kid` that begins with `log-`. */
      note: string;
      /** @description The public key of the log as a verifier key of https://c2sp.org/signed-note. Present if the log is witnessed. */
      verifier_key?: string;
    };
    /**
     * @example {
     *       "from": 1,
     *       "to": 2,
     *       "from_root_hash": "f2ca1bb6c7e907d06dafe4687e579fce76b37e4e93b7605022da52e6ccc26fd2",
     *       "to_root_hash": "f2ca1bb6c7e907d06dafe4687e579fce76b37e4e93b7605022da52e6ccc26fd2",
     *       "consistency_path": [
     *         "f2ca1bb6c7e907d06dafe4687e579fce76b37e4e93b7605022da52e6ccc26fd2"
     *       ]
     *     }
     */
    ConsistencyProof: {
      from: number;
      to: number;
      /**
       * @description SHA-256, in hexadecimal.
       * @example f2ca1bb6c7e907d06dafe4687e579fce76b37e4e93b7605022da52e6ccc26fd2
       */
      from_root_hash: string;
      /**
       * @description SHA-256, in hexadecimal.
       * @example f2ca1bb6c7e907d06dafe4687e579fce76b37e4e93b7605022da52e6ccc26fd2
       */
      to_root_hash: string;
      /** @description RFC 9162 section 2.1.4.1. */
      consistency_path: string[];
    };
    /**
     * @example {
     *       "sequence": 2,
     *       "leaf_hash": "f2ca1bb6c7e907d06dafe4687e579fce76b37e4e93b7605022da52e6ccc26fd2",
     *       "leaf_input": "AHsiY3JlYXRlZF9hdCI6IjIwMjYtMDEtMzFUMTI6MDA6MDAuMDAwWiIs4oCmfQ==",
     *       "tree_size": 2,
     *       "root_hash": "f2ca1bb6c7e907d06dafe4687e579fce76b37e4e93b7605022da52e6ccc26fd2",
     *       "inclusion_path": [
     *         "f2ca1bb6c7e907d06dafe4687e579fce76b37e4e93b7605022da52e6ccc26fd2"
     *       ],
     *       "checkpoint": {
     *         "origin": "countersign.example.com/user_01m7x1m1tre75vaz5yvpbmvt6m",
     *         "tree_size": 2,
     *         "root_hash": "f2ca1bb6c7e907d06dafe4687e579fce76b37e4e93b7605022da52e6ccc26fd2",
     *         "timestamp": "2026-01-31T12:00:00.000Z",
     *         "note": "countersign.example.com/user_01m7x1m1tre75vaz5yvpbmvt6m\n2\n8sobtsfpB9Btr+Roflefznazfk6Tt2BQItpS5szCb9I=\ntime 2026-01-31T12:00:00.000Z\n\n— countersign.example.com/user_01m7x1m1tre75vaz5yvpbmvt6m 7cIWo0Yg2bW3yS0n1y7h1mJ0m5C0m0pQyG9fDkq5hZ2cV8yqfY3nqk1o2jQfM5xqWc3m2kq0y1b8n4tP6sH0Ag2J4Aw=\n"
     *       }
     *     }
     */
    InclusionProof: {
      /** @description Of the entry: it is leaf `sequence` − 1. */
      sequence: number;
      /**
       * @description SHA-256, in hexadecimal.
       * @example f2ca1bb6c7e907d06dafe4687e579fce76b37e4e93b7605022da52e6ccc26fd2
       */
      leaf_hash: string;
      /** @description The bytes whose SHA-256 is `leaf_hash`, in base64: a zero byte, and the entry as `GET /v1/audit/{id}` answers it, with its random `salt` as one more member, as canonical JSON (RFC 8785). */
      leaf_input: string;
      tree_size: number;
      /**
       * @description SHA-256, in hexadecimal.
       * @example f2ca1bb6c7e907d06dafe4687e579fce76b37e4e93b7605022da52e6ccc26fd2
       */
      root_hash: string;
      /** @description From the leaf upwards (RFC 9162 section 2.1.3.1). */
      inclusion_path: string[];
      checkpoint: components['schemas']['Checkpoint'];
    };
    /**
     * @example {
     *       "origin": "countersign.example.com/user_01m7x1m1tre75vaz5yvpbmvt6m",
     *       "tree_size": 2,
     *       "root_hash": "f2ca1bb6c7e907d06dafe4687e579fce76b37e4e93b7605022da52e6ccc26fd2",
     *       "timestamp": "2026-01-31T12:00:00.000Z",
     *       "note": "countersign.example.com/user_01m7x1m1tre75vaz5yvpbmvt6m\n2\n8sobtsfpB9Btr+Roflefznazfk6Tt2BQItpS5szCb9I=\ntime 2026-01-31T12:00:00.000Z\n\n— countersign.example.com/user_01m7x1m1tre75vaz5yvpbmvt6m 7cIWo0Yg2bW3yS0n1y7h1mJ0m5C0m0pQyG9fDkq5hZ2cV8yqfY3nqk1o2jQfM5xqWc3m2kq0y1b8n4tP6sH0Ag2J4Aw=\n"
     *     }
     */
    Checkpoint: {
      /** @description The log's name: the host of the service and the account. */
      origin: string;
      /** @description Entries under it: those with the sequences from 1 to this. */
      tree_size: number;
      /**
       * @description SHA-256, in hexadecimal.
       * @example f2ca1bb6c7e907d06dafe4687e579fce76b37e4e93b7605022da52e6ccc26fd2
       */
      root_hash: string;
      /**
       * Format: date-time
       * @description When it was sealed.
       * @example 2026-01-31T12:00:00.000Z
       */
      timestamp: string;
      /** @description The same, signed with Ed25519: a note of https://c2sp.org/signed-note in the form of https://c2sp.org/tlog-checkpoint, with the time as an extension line. The key is at `/.well-known/jwks.json`, with a `kid` that begins with `log-`. */
      note: string;
    };
    /**
     * @description An action on the account itself.
     * @example {
     *       "id": "act_01m7x1m1tre75vaz5yvpbmvt6m",
     *       "actor": "utok_01m7x1m1tre75vaz5yvpbmvt6m",
     *       "action": "agent.updated",
     *       "target": "agent_01m7x1m1tre75vaz5yvpbmvt6m",
     *       "changes": [
     *         "metadata"
     *       ],
     *       "ip_address": "203.0.113.7",
     *       "user_agent": "mail-assistant/1.0",
     *       "created_at": "2026-01-31T12:00:00.000Z"
     *     }
     */
    Activity: {
      /** @example act_01m7x1m1tre75vaz5yvpbmvt6m */
      id: string;
      /** @description Id of the member; of the user token, where it belongs to the account itself; `operator`; null for a download by its signed URL. */
      actor: string | null;
      action: components['schemas']['ActivityAction'];
      /** @description Id of the object, which remains when the object is deleted. */
      target: string;
      /** @description Names of the changed fields, never their values. */
      changes: string[];
      ip_address: string;
      user_agent: string;
      /**
       * Format: date-time
       * @example 2026-01-31T12:00:00.000Z
       */
      created_at: string;
    };
    /**
     * @example {
     *       "set_aside": 2,
     *       "has_more": false
     *     }
     */
    LogContinuation: {
      /** @description How many tiles and signed heads were moved. */
      set_aside: number;
      /** @description Whether more remain: if so, send the request again. */
      has_more: boolean;
    };
    /**
     * @example {
     *       "type": "countersign/receipt/v1",
     *       "permission_id": "perm_01m7x1m1tre75vaz5yvpbmvt6m",
     *       "entries": [
     *         {
     *           "sequence": 2,
     *           "leaf_input": "AHsiY3JlYXRlZF9hdCI6IjIwMjYtMDEtMzFUMTI6MDA6MDAuMDAwWiIs4oCmfQ==",
     *           "inclusion_path": [
     *             "f2ca1bb6c7e907d06dafe4687e579fce76b37e4e93b7605022da52e6ccc26fd2"
     *           ]
     *         }
     *       ],
     *       "checkpoint": {
     *         "origin": "countersign.example.com/user_01m7x1m1tre75vaz5yvpbmvt6m",
     *         "tree_size": 2,
     *         "root_hash": "f2ca1bb6c7e907d06dafe4687e579fce76b37e4e93b7605022da52e6ccc26fd2",
     *         "timestamp": "2026-01-31T12:00:00.000Z",
     *         "note": "countersign.example.com/user_01m7x1m1tre75vaz5yvpbmvt6m\n2\n8sobtsfpB9Btr+Roflefznazfk6Tt2BQItpS5szCb9I=\ntime 2026-01-31T12:00:00.000Z\n\n— countersign.example.com/user_01m7x1m1tre75vaz5yvpbmvt6m 7cIWo0Yg2bW3yS0n1y7h1mJ0m5C0m0pQyG9fDkq5hZ2cV8yqfY3nqk1o2jQfM5xqWc3m2kq0y1b8n4tP6sH0Ag2J4Aw=\n"
     *       },
     *       "complete": false,
     *       "input": null,
     *       "preview": null
     *     }
     */
    Receipt: {
      /** @constant */
      type: 'countersign/receipt/v1';
      /** @example perm_01m7x1m1tre75vaz5yvpbmvt6m */
      permission_id: string;
      /** @description In the order of the log. */
      entries: {
        /** @description Of the entry: it is leaf `sequence` − 1. */
        sequence: number;
        /** @description As in the proof of one entry: the sealed entry with its salt, in base64. */
        leaf_input: string;
        /** @description From the leaf to the root of the checkpoint. */
        inclusion_path: string[];
      }[];
      checkpoint: components['schemas']['Checkpoint'];
      /** @description Whether these are all entries of the permission, and the approval of the series if it was approved as part of one. False if some are too old, or they are more than 100. */
      complete: boolean;
      /** @description The arguments of the act; null if the service does not have them, or no longer the entry with their digest. */
      input: unknown;
      preview: components['schemas']['Preview'] | null;
    };
    /**
     * @description A file of evidence from the audit log for the controls of a framework, made in the background.
     * @example {
     *       "report_id": "report_01m7x1m1tre75vaz5yvpbmvt6m",
     *       "report_type": "soc2_type2",
     *       "period": {
     *         "start": "2026-01-01",
     *         "end": "2026-01-31"
     *       },
     *       "format": "pdf",
     *       "status": "processing",
     *       "download_url": null,
     *       "expires_at": null,
     *       "error": null,
     *       "created_at": "2026-01-31T12:00:00.000Z"
     *     }
     */
    ComplianceReport: {
      /** @example report_01m7x1m1tre75vaz5yvpbmvt6m */
      report_id: string;
      /** @enum {string} */
      report_type: 'soc2_type1' | 'soc2_type2' | 'iso27001' | 'hipaa' | 'gdpr' | 'eu_ai_act';
      /** @description Both days belong to the period. */
      period: {
        /** Format: date */
        start: string;
        /** Format: date */
        end: string;
      };
      /** @enum {string} */
      format: 'pdf' | 'json';
      /** @description The SHA-256 of the file, in lower-case hexadecimal. */
      sha256?: string;
      /** @enum {string} */
      status: 'processing' | 'completed' | 'failed' | 'expired';
      /** @description Where the file is; needs no credential. Null while there is nothing to download. */
      download_url: string | null;
      /** @description When the file can no longer be downloaded. */
      expires_at: string | null;
      file_size_bytes?: number;
      /** @description The code of the error; null if the file did not fail. */
      error: string | null;
      /**
       * Format: date-time
       * @example 2026-01-31T12:00:00.000Z
       */
      created_at: string;
      /**
       * Format: date-time
       * @example 2026-01-31T12:00:00.000Z
       */
      completed_at?: string;
    };
    /**
     * @description A webhook with its secret.
     * @example {
     *       "id": "webhook_01m7x1m1tre75vaz5yvpbmvt6m",
     *       "url": "https://hooks.example.com/countersign",
     *       "description": "For the security team",
     *       "events": [
     *         "audit.created",
     *         "audit.export.completed"
     *       ],
     *       "agent_ids": null,
     *       "is_active": true,
     *       "disabled_reason": null,
     *       "created_by": "member_01m7x1m1tre75vaz5yvpbmvt6m",
     *       "created_at": "2026-01-31T12:00:00.000Z",
     *       "updated_at": "2026-01-31T12:00:00.000Z",
     *       "secret": "whsec_d2ViaG9vayBzZWNyZXQgb2YgdGhlIGV4YW1wbGVzISE="
     *     }
     */
    WebhookWithSecret: {
      /** @example webhook_01m7x1m1tre75vaz5yvpbmvt6m */
      id: string;
      url: string;
      description: string | null;
      events: components['schemas']['WebhookEvent'][];
      agent_ids: string[] | null;
      /** @description Nothing is sent while this is false, and events of that time are never sent. */
      is_active: boolean;
      /** @description Why the service disabled it; null if it did not. */
      disabled_reason: string | null;
      /**
       * @description Who made it: the id of a member, the id of the account for a token of the account itself, or `operator`; null if it was made before this was recorded.
       * @example member_01m7x1m1tre75vaz5yvpbmvt6m
       */
      created_by: string | null;
      /**
       * Format: date-time
       * @example 2026-01-31T12:00:00.000Z
       */
      created_at: string;
      /**
       * Format: date-time
       * @example 2026-01-31T12:00:00.000Z
       */
      updated_at: string;
      /** @description Signs every message, by the Standard Webhooks specification. Only this answer shows it. */
      secret: string;
    };
    /**
     * @description A URL to which events are sent as they happen.
     * @example {
     *       "id": "webhook_01m7x1m1tre75vaz5yvpbmvt6m",
     *       "url": "https://hooks.example.com/countersign",
     *       "description": "For the security team",
     *       "events": [
     *         "audit.created",
     *         "audit.export.completed"
     *       ],
     *       "agent_ids": null,
     *       "is_active": true,
     *       "disabled_reason": null,
     *       "created_by": "member_01m7x1m1tre75vaz5yvpbmvt6m",
     *       "created_at": "2026-01-31T12:00:00.000Z",
     *       "updated_at": "2026-01-31T12:00:00.000Z"
     *     }
     */
    Webhook: {
      /** @example webhook_01m7x1m1tre75vaz5yvpbmvt6m */
      id: string;
      url: string;
      description: string | null;
      events: components['schemas']['WebhookEvent'][];
      agent_ids: string[] | null;
      /** @description Nothing is sent while this is false, and events of that time are never sent. */
      is_active: boolean;
      /** @description Why the service disabled it; null if it did not. */
      disabled_reason: string | null;
      /**
       * @description Who made it: the id of a member, the id of the account for a token of the account itself, or `operator`; null if it was made before this was recorded.
       * @example member_01m7x1m1tre75vaz5yvpbmvt6m
       */
      created_by: string | null;
      /**
       * Format: date-time
       * @example 2026-01-31T12:00:00.000Z
       */
      created_at: string;
      /**
       * Format: date-time
       * @example 2026-01-31T12:00:00.000Z
       */
      updated_at: string;
    };
    /**
     * @description One event on its way to one webhook.
     * @example {
     *       "id": "dlv_01m7x1m1tre75vaz5yvpbmvt6m",
     *       "webhook_id": "webhook_01m7x1m1tre75vaz5yvpbmvt6m",
     *       "event": "audit.created",
     *       "status": "pending",
     *       "attempts": 1,
     *       "next_attempt_at": "2026-01-31T12:15:00.000Z",
     *       "last_status_code": 503,
     *       "last_error": "The answer was 503.",
     *       "created_at": "2026-01-31T12:00:00.000Z",
     *       "completed_at": null
     *     }
     */
    Delivery: {
      /** @example dlv_01m7x1m1tre75vaz5yvpbmvt6m */
      id: string;
      /** @example webhook_01m7x1m1tre75vaz5yvpbmvt6m */
      webhook_id: string;
      event: components['schemas']['DeliveryEvent'];
      status: components['schemas']['DeliveryStatus'];
      /** @description The number of attempts so far. */
      attempts: number;
      /** @description When the next attempt is due; null if there is none. */
      next_attempt_at: string | null;
      /** @description The status of the answer to the last attempt. */
      last_status_code: number | null;
      /** @description Why the last attempt failed, in plain words. */
      last_error: string | null;
      /**
       * Format: date-time
       * @example 2026-01-31T12:00:00.000Z
       */
      created_at: string;
      /** @description When it succeeded or finally failed. */
      completed_at: string | null;
    };
    /**
     * @description What a delivery is about.
     * @enum {string}
     */
    DeliveryEvent:
      | 'audit.created'
      | 'audit.export.completed'
      | 'audit.export.failed'
      | 'report.completed'
      | 'report.failed'
      | 'webhook.test'
      | 'permission.requested'
      | 'permission.escalated'
      | 'permission.decided'
      | 'permission.expired'
      | 'permission.outcome_missing'
      | 'webhook.disabled'
      | 'account.stopped'
      | 'account.resumed';
    /**
     * @description A delivery with its payload and its attempts.
     * @example {
     *       "id": "dlv_01m7x1m1tre75vaz5yvpbmvt6m",
     *       "webhook_id": "webhook_01m7x1m1tre75vaz5yvpbmvt6m",
     *       "event": "audit.created",
     *       "status": "pending",
     *       "attempts": 1,
     *       "next_attempt_at": "2026-01-31T12:15:00.000Z",
     *       "last_status_code": 503,
     *       "last_error": "The answer was 503.",
     *       "created_at": "2026-01-31T12:00:00.000Z",
     *       "completed_at": null,
     *       "payload": {
     *         "event": "audit.created",
     *         "timestamp": "2026-01-31T12:00:00.000Z",
     *         "data": {
     *           "event_type": "request"
     *         }
     *       },
     *       "attempt_history": [
     *         {
     *           "at": "2026-01-31T12:00:00.000Z",
     *           "status_code": 503,
     *           "error": "The answer was 503.",
     *           "duration_ms": 41
     *         }
     *       ]
     *     }
     */
    DeliveryDetail: {
      /** @example dlv_01m7x1m1tre75vaz5yvpbmvt6m */
      id: string;
      /** @example webhook_01m7x1m1tre75vaz5yvpbmvt6m */
      webhook_id: string;
      event: components['schemas']['DeliveryEvent'];
      status: components['schemas']['DeliveryStatus'];
      /** @description The number of attempts so far. */
      attempts: number;
      /** @description When the next attempt is due; null if there is none. */
      next_attempt_at: string | null;
      /** @description The status of the answer to the last attempt. */
      last_status_code: number | null;
      /** @description Why the last attempt failed, in plain words. */
      last_error: string | null;
      /**
       * Format: date-time
       * @example 2026-01-31T12:00:00.000Z
       */
      created_at: string;
      /** @description When it succeeded or finally failed. */
      completed_at: string | null;
      /** @description The message that is sent. Null without the scope `audit:read` for `audit.created`, `permissions:read` for events of permissions, or `audit:export` for events of exports and reports, and if the audit entry or the permission is no longer kept. */
      payload: {
        [key: string]: unknown;
      } | null;
      /** @description Every attempt, in order. */
      attempt_history: components['schemas']['DeliveryAttempt'][];
    };
    DeliveryAttempt: {
      /**
       * Format: date-time
       * @description When it began.
       * @example 2026-01-31T12:00:00.000Z
       */
      at: string;
      /** @description The status of the answer; null if there was none. */
      status_code: number | null;
      /** @description Why it failed, in plain words; null if it succeeded. */
      error: string | null;
      duration_ms: number;
    };
    /**
     * @description Notifies people of events, by e-mail or in Slack.
     * @example {
     *       "id": "chan_01m7x1m1tre75vaz5yvpbmvt6m",
     *       "kind": "email",
     *       "name": "Mail to reviewers",
     *       "config": {},
     *       "events": [
     *         "permission.requested",
     *         "permission.escalated"
     *       ],
     *       "filter": null,
     *       "inbound_url": null,
     *       "is_active": true,
     *       "disabled_reason": null,
     *       "created_by": "member_01m7x1m1tre75vaz5yvpbmvt6m",
     *       "created_at": "2026-01-31T12:00:00.000Z",
     *       "updated_at": "2026-01-31T12:00:00.000Z"
     *     }
     */
    Channel: {
      /** @example chan_01m7x1m1tre75vaz5yvpbmvt6m */
      id: string;
      kind: components['schemas']['ChannelKind'];
      name: string;
      /** @description Its settings, without secrets. */
      config: {
        [key: string]: unknown;
      };
      events: components['schemas']['ChannelEvent'][];
      /** @description Limits the notifications to some permissions; null for all. */
      filter: {
        actions?: string[];
        agent_ids?: string[];
      } | null;
      /** @description Where Slack sends what people do. It is a secret: null without the scope `channels:write`, and for e-mail. */
      inbound_url: string | null;
      /** @description Nothing is sent while this is false, and events of that time are never sent. */
      is_active: boolean;
      /** @description Why the service disabled it; null if it did not. */
      disabled_reason: string | null;
      /**
       * @description Who made it: the id of a member, the id of the account for a token of the account itself, or `operator`; null if it was made before this was recorded.
       * @example member_01m7x1m1tre75vaz5yvpbmvt6m
       */
      created_by: string | null;
      /**
       * Format: date-time
       * @example 2026-01-31T12:00:00.000Z
       */
      created_at: string;
      /**
       * Format: date-time
       * @example 2026-01-31T12:00:00.000Z
       */
      updated_at: string;
    };
    /** @enum {string} */
    ChannelKind: 'email' | 'slack';
    /**
     * @description One event on its way to one recipient.
     * @example {
     *       "id": "dlv_01m7x1m1tre75vaz5yvpbmvt6m",
     *       "channel_id": "chan_01m7x1m1tre75vaz5yvpbmvt6m",
     *       "permission_id": "perm_01m7x1m1tre75vaz5yvpbmvt6m",
     *       "reminder": null,
     *       "member_id": "member_01m7x1m1tre75vaz5yvpbmvt6m",
     *       "slack_channel": null,
     *       "event": "permission.requested",
     *       "status": "succeeded",
     *       "attempts": 1,
     *       "next_attempt_at": null,
     *       "last_status_code": 200,
     *       "last_error": null,
     *       "created_at": "2026-01-31T12:00:00.000Z",
     *       "completed_at": "2026-01-31T12:00:00.000Z"
     *     }
     */
    ChannelDelivery: {
      /** @example dlv_01m7x1m1tre75vaz5yvpbmvt6m */
      id: string;
      /** @example chan_01m7x1m1tre75vaz5yvpbmvt6m */
      channel_id: string;
      permission_id: string | null;
      /** @description Which reminder it is, from 1 on; null if it is none. */
      reminder: number | null;
      /** @description The member whom it notifies; null if it is for no member. */
      member_id: string | null;
      /** @description The id of the Slack channel; null for e-mail. */
      slack_channel: string | null;
      event: components['schemas']['DeliveryEvent'];
      status: components['schemas']['DeliveryStatus'];
      /** @description The number of attempts so far. */
      attempts: number;
      /** @description When the next attempt is due; null if there is none. */
      next_attempt_at: string | null;
      /** @description The status of the answer to the last attempt. */
      last_status_code: number | null;
      /** @description Why the last attempt failed, in plain words. */
      last_error: string | null;
      /**
       * Format: date-time
       * @example 2026-01-31T12:00:00.000Z
       */
      created_at: string;
      /** @description When it succeeded or finally failed. */
      completed_at: string | null;
    };
    /**
     * @description A message by a channel with its event and its attempts.
     * @example {
     *       "id": "dlv_01m7x1m1tre75vaz5yvpbmvt6m",
     *       "channel_id": "chan_01m7x1m1tre75vaz5yvpbmvt6m",
     *       "permission_id": "perm_01m7x1m1tre75vaz5yvpbmvt6m",
     *       "reminder": null,
     *       "member_id": "member_01m7x1m1tre75vaz5yvpbmvt6m",
     *       "slack_channel": null,
     *       "event": "permission.requested",
     *       "status": "succeeded",
     *       "attempts": 1,
     *       "next_attempt_at": null,
     *       "last_status_code": 200,
     *       "last_error": null,
     *       "created_at": "2026-01-31T12:00:00.000Z",
     *       "completed_at": "2026-01-31T12:00:00.000Z",
     *       "payload": {
     *         "event": "permission.requested",
     *         "timestamp": "2026-01-31T12:00:00.000Z",
     *         "data": {
     *           "action": "email.send"
     *         }
     *       },
     *       "attempt_history": [
     *         {
     *           "at": "2026-01-31T12:00:00.000Z",
     *           "status_code": 200,
     *           "error": null,
     *           "duration_ms": 41
     *         }
     *       ]
     *     }
     */
    ChannelDeliveryDetail: {
      /** @example dlv_01m7x1m1tre75vaz5yvpbmvt6m */
      id: string;
      /** @example chan_01m7x1m1tre75vaz5yvpbmvt6m */
      channel_id: string;
      permission_id: string | null;
      /** @description Which reminder it is, from 1 on; null if it is none. */
      reminder: number | null;
      /** @description The member whom it notifies; null if it is for no member. */
      member_id: string | null;
      /** @description The id of the Slack channel; null for e-mail. */
      slack_channel: string | null;
      event: components['schemas']['DeliveryEvent'];
      status: components['schemas']['DeliveryStatus'];
      /** @description The number of attempts so far. */
      attempts: number;
      /** @description When the next attempt is due; null if there is none. */
      next_attempt_at: string | null;
      /** @description The status of the answer to the last attempt. */
      last_status_code: number | null;
      /** @description Why the last attempt failed, in plain words. */
      last_error: string | null;
      /**
       * Format: date-time
       * @example 2026-01-31T12:00:00.000Z
       */
      created_at: string;
      /** @description When it succeeded or finally failed. */
      completed_at: string | null;
      /** @description The message that is sent. Null without the scope `audit:read` for `audit.created`, `permissions:read` for events of permissions, or `audit:export` for events of exports and reports, and if the audit entry or the permission is no longer kept. */
      payload: {
        [key: string]: unknown;
      } | null;
      /** @description Every attempt, in order. */
      attempt_history: components['schemas']['DeliveryAttempt'][];
    };
    /**
     * @description Whom a channel or a device notified of a permission, and whether the message arrived.
     * @example {
     *       "id": "dlv_01m7x1m1tre75vaz5yvpbmvt6m",
     *       "channel_id": "chan_01m7x1m1tre75vaz5yvpbmvt6m",
     *       "permission_id": "perm_01m7x1m1tre75vaz5yvpbmvt6m",
     *       "reminder": null,
     *       "member_id": "member_01m7x1m1tre75vaz5yvpbmvt6m",
     *       "slack_channel": null,
     *       "event": "permission.requested",
     *       "status": "succeeded",
     *       "attempts": 1,
     *       "next_attempt_at": null,
     *       "last_status_code": 200,
     *       "last_error": null,
     *       "created_at": "2026-01-31T12:00:00.000Z",
     *       "completed_at": "2026-01-31T12:00:00.000Z",
     *       "channel_name": "Mail to reviewers",
     *       "kind": "email",
     *       "member_name": "Ada"
     *     }
     */
    Notification: {
      /** @example dlv_01m7x1m1tre75vaz5yvpbmvt6m */
      id: string;
      /** @description The channel of the account, or the device of the member. */
      channel_id: string;
      permission_id: string | null;
      /** @description Which reminder it is, from 1 on; null if it is none. */
      reminder: number | null;
      /** @description The member whom it notifies; null if it is for no member. */
      member_id: string | null;
      /** @description The id of the Slack channel; null for e-mail. */
      slack_channel: string | null;
      event: components['schemas']['DeliveryEvent'];
      status: components['schemas']['DeliveryStatus'];
      /** @description The number of attempts so far. */
      attempts: number;
      /** @description When the next attempt is due; null if there is none. */
      next_attempt_at: string | null;
      /** @description The status of the answer to the last attempt. */
      last_status_code: number | null;
      /** @description Why the last attempt failed, in plain words. */
      last_error: string | null;
      /**
       * Format: date-time
       * @example 2026-01-31T12:00:00.000Z
       */
      created_at: string;
      /** @description When it succeeded or finally failed. */
      completed_at: string | null;
      channel_name: string;
      /** @enum {string} */
      kind: 'email' | 'slack' | 'push';
      member_name: string | null;
    };
    /**
     * @description Your notification settings.
     * @example {
     *       "channels": null,
     *       "events": [
     *         "permission.requested",
     *         "permission.escalated"
     *       ],
     *       "quiet_hours": {
     *         "start": "22:00",
     *         "end": "07:00",
     *         "time_zone": "Europe/Berlin"
     *       },
     *       "delegate": {
     *         "member_id": "member_01m7x1m1tre75vaz5yvpbmvt6m",
     *         "from": "2026-01-31T12:00:00.000Z",
     *         "until": "2026-01-31T12:15:00.000Z"
     *       },
     *       "push": [
     *         {
     *           "id": "push_01m7x1m1tre75vaz5yvpbmvt6m",
     *           "name": "Chrome on Android",
     *           "created_at": "2026-01-31T12:00:00.000Z"
     *         }
     *       ],
     *       "updated_at": "2026-01-31T12:00:00.000Z"
     *     }
     */
    NotificationSettings: {
      /** @description The channels that may send you messages; null for all. With an empty list none may. The list may name channels that were deleted. */
      channels: string[] | null;
      /** @description The events that are sent to you; null for all. An empty list means none. Who may decide always gets the stop and the resume of the account, by every channel that sends them, whatever these settings say. */
      events: components['schemas']['ChannelEvent'][] | null;
      /** @description The hours of every day in which you get no messages; null for none. Messages wait until these hours end, but for those about a disabled webhook, and about a stop or resume of the account. If the clocks show the start twice, the first one counts; if they show the end twice, the last one. A time that the clocks skip becomes the moment of the skip. */
      quiet_hours: {
        start: string;
        end: string;
        time_zone: string;
      } | null;
      /** @description Another member who gets your messages instead of you; null for nobody. You get them while that member is not active. */
      delegate: {
        /** @example member_01m7x1m1tre75vaz5yvpbmvt6m */
        member_id: string;
        /** @description When the delegation starts; null for at once. */
        from: string | null;
        /** @description The end; null for no end. */
        until: string | null;
      } | null;
      /** @description Your devices that are notified by Web Push, whatever `channels` says. You subscribe a device in the console. */
      push: components['schemas']['PushDevice'][];
      /** @description Null if you never changed them. */
      updated_at: string | null;
    };
    /**
     * @description A device of yours that is notified by Web Push.
     * @example {
     *       "id": "push_01m7x1m1tre75vaz5yvpbmvt6m",
     *       "name": "Chrome on Android",
     *       "created_at": "2026-01-31T12:00:00.000Z"
     *     }
     */
    PushDevice: {
      /** @example push_01m7x1m1tre75vaz5yvpbmvt6m */
      id: string;
      name: string;
      /**
       * Format: date-time
       * @example 2026-01-31T12:00:00.000Z
       */
      created_at: string;
    };
    /**
     * @example {
     *       "response_action": "clear"
     *     }
     */
    SlackResponse: {
      /** @enum {string} */
      response_action?: 'clear' | 'errors';
      errors?: {
        [key: string]: string;
      };
    };
    /**
     * @description Another service to which Countersign sends what agents may do there, with a credential that no agent holds.
     * @example {
     *       "id": "conn_01m7x1m1tre75vaz5yvpbmvt6m",
     *       "name": "Stripe",
     *       "slug": "stripe",
     *       "base_url": "https://api.stripe.com",
     *       "auth": {
     *         "type": "header",
     *         "header": "Authorization",
     *         "prefix": "Bearer "
     *       },
     *       "rules": [
     *         {
     *           "methods": [
     *             "GET",
     *             "HEAD"
     *           ],
     *           "effect": "allow",
     *           "whole_input": false
     *         },
     *         {
     *           "methods": [
     *             "POST"
     *           ],
     *           "paths": [
     *             "/v1/refunds"
     *           ],
     *           "effect": "ask",
     *           "action": "refund.create",
     *           "resource": "payments:stripe",
     *           "scope": {
     *             "amount": "{amount}"
     *           },
     *           "title": "Refund {amount} of {payment_intent}",
     *           "whole_input": true
     *         }
     *       ],
     *       "agent_ids": [
     *         "agent_01m7x1m1tre75vaz5yvpbmvt6m"
     *       ],
     *       "forward_headers": [
     *         "Accept",
     *         "Content-Type"
     *       ],
     *       "wait": 25,
     *       "timeout": 60,
     *       "repeat_after": 600,
     *       "is_active": true,
     *       "created_by": "member_01m7x1m1tre75vaz5yvpbmvt6m",
     *       "created_at": "2026-01-31T12:00:00.000Z",
     *       "updated_at": "2026-01-31T12:00:00.000Z"
     *     }
     */
    Connection: {
      /** @example conn_01m7x1m1tre75vaz5yvpbmvt6m */
      id: string;
      name: string;
      /** @description Its name in actions and addresses. It never changes. */
      slug: string;
      base_url: string;
      auth: components['schemas']['ConnectionAuth'];
      rules: components['schemas']['ConnectionRuleOutput'][];
      agent_ids: string[];
      /** @description The headers of the agent that are sent on. */
      forward_headers: string[];
      wait: number;
      timeout: number;
      repeat_after: number;
      is_active: boolean;
      /**
       * @description Who made it: the id of a member, the id of the account for a token of the account itself, or `operator`; null if it was made before this was recorded.
       * @example member_01m7x1m1tre75vaz5yvpbmvt6m
       */
      created_by: string | null;
      /**
       * Format: date-time
       * @example 2026-01-31T12:00:00.000Z
       */
      created_at: string;
      /**
       * Format: date-time
       * @example 2026-01-31T12:00:00.000Z
       */
      updated_at: string;
    };
    /**
     * @description How the credential is sent. The secret itself is never shown.
     * @example {
     *       "type": "header",
     *       "header": "Authorization",
     *       "prefix": "Bearer "
     *     }
     */
    ConnectionAuth:
      | {
          /** @constant */
          type: 'none';
        }
      | {
          /** @constant */
          type: 'basic';
        }
      | {
          /** @constant */
          type: 'header';
          header: string;
          prefix: string;
        };
    /**
     * @example {
     *       "status": 200,
     *       "duration_ms": 83
     *     }
     */
    ConnectionTestResult: {
      /** @description The status of the answer. */
      status: number;
      /** @description Milliseconds until the head of the answer. */
      duration_ms: number;
    };
    /**
     * @description Calls that a rule allowed without a permission, by UTC day and agent.
     * @example {
     *       "data": [
     *         {
     *           "date": "2026-01-31",
     *           "agent_id": "agent_01m7x1m1tre75vaz5yvpbmvt6m",
     *           "count": 17
     *         }
     *       ]
     *     }
     */
    ConnectionReads: {
      data: {
        /** Format: date */
        date: string;
        /** @example agent_01m7x1m1tre75vaz5yvpbmvt6m */
        agent_id: string;
        count: number;
      }[];
    };
    /**
     * @description The way in which a connection treats the calls that match the rule.
     * @example {
     *       "methods": [
     *         "POST"
     *       ],
     *       "paths": [
     *         "/v1/refunds"
     *       ],
     *       "effect": "ask",
     *       "action": "refund.create",
     *       "resource": "payments:stripe",
     *       "scope": {
     *         "amount": "{amount}"
     *       },
     *       "title": "Refund {amount} of {payment_intent}",
     *       "whole_input": true
     *     }
     */
    ConnectionRuleOutput: {
      /** @description The methods that it matches; without it, every method. */
      methods?: ('GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE')[];
      /** @description Patterns of the path below `base_url`. One of them has to match; without any, every path does. `*` stands for any characters, `/` included. */
      paths?: string[];
      /**
       * @description `ask`: the call needs a permission. `allow`: it is sent without one, and only counted. `deny`: it is refused.
       * @enum {string}
       */
      effect: 'ask' | 'allow' | 'deny';
      /**
       * @description The action of the permission; by default the slug and the method, such as `github.post`.
       * @example email.send
       */
      action?: string;
      /**
       * @description The resource of the permission; by default `url:`, the host and the path.
       * @example mailbox:support
       */
      resource?: string;
      /** @description The scope of the permission: for each key a field of the body or the query. A key whose field is missing is left out. */
      scope?: {
        [key: string]: string;
      };
      /** @description The title of the preview, in which `{field}` stands for a field of the call. */
      title?: string;
      /** @description A series that every request of this rule asks for. */
      series?: components['schemas']['SeriesInputOutput'];
      /**
       * @description Whether to refuse a call with an input of more than 16 KiB. People would see only its size and digest.
       * @default false
       */
      whole_input: boolean;
    };
    /**
     * @description A run of like acts: requests of the same agent for the same action, resource and scope. Nobody sees the arguments of the later ones before they are approved.
     * @example {
     *       "requests": 20,
     *       "expires_in": 3600,
     *       "varies": [
     *         "max_amount"
     *       ]
     *     }
     */
    SeriesInputOutput: {
      /** @description The number of requests, the first one included. */
      requests: number;
      /** @description Seconds after the approval in which it approves requests. */
      expires_in: number;
      /**
       * @description Keys of `scope` whose values may be lower or narrower than those of the first permission. All others have to be equal.
       * @default []
       */
      varies: string[];
    };
    ListAccountsQuery: {
      /**
       * @description The greatest number of items on the page.
       * @default 20
       */
      limit?: number;
      /** @description The `next_cursor` of the previous page. It works only for the same account and the same filters. */
      cursor?: string;
      /** @description Only accounts with this plan. */
      plan?: components['schemas']['Plan'];
      /** @description Only accounts with exactly this address. */
      email?: string;
    };
    ListUserTokensQuery: {
      /**
       * @description The greatest number of items on the page.
       * @default 20
       */
      limit?: number;
      /** @description The `next_cursor` of the previous page. It works only for the same account and the same filters. */
      cursor?: string;
    };
    ListSessionsQuery: {
      /**
       * @description The greatest number of items on the page.
       * @default 20
       */
      limit?: number;
      /** @description The `next_cursor` of the previous page. It works only for the same account and the same filters. */
      cursor?: string;
    };
    ListPasskeysQuery: {
      /**
       * @description The greatest number of items on the page.
       * @default 20
       */
      limit?: number;
      /** @description The `next_cursor` of the previous page. It works only for the same account and the same filters. */
      cursor?: string;
    };
    ListMembersQuery: {
      /**
       * @description The greatest number of items on the page.
       * @default 20
       */
      limit?: number;
      /** @description The `next_cursor` of the previous page. It works only for the same account and the same filters. */
      cursor?: string;
      /** @description Only members with this role. */
      role?: components['schemas']['MemberRole'];
      /** @description Only members with this status; without it, all but the removed ones. */
      status?: components['schemas']['MemberStatus'];
    };
    ListAgentsQuery: {
      /**
       * @description The greatest number of items on the page.
       * @default 20
       */
      limit?: number;
      /** @description The `next_cursor` of the previous page. It works only for the same account and the same filters. */
      cursor?: string;
      /** @description Only active agents (`true`) or inactive ones (`false`). */
      active?: boolean;
    };
    GetAgentStatisticsQuery: {
      /**
       * @description `1d` to `365d`: so many days in UTC, today included. `1h` to `720h`: so many full hours, and the current hour.
       * @default 30d
       */
      period?: string;
    };
    ListPermissionsQuery: {
      /**
       * @description The greatest number of items on the page.
       * @default 20
       */
      limit?: number;
      /** @description The `next_cursor` of the previous page. It works only for the same account and the same filters. */
      cursor?: string;
      /** @description Only permissions with this status. */
      status?: components['schemas']['PermissionStatus'];
      /** @description Only permissions of this agent. */
      agent_id?: string;
      /** @description Only the permissions requested under this external id. */
      external_id?: string;
      /** @description Only permissions for exactly this action. */
      action?: string;
      /**
       * @description Only permissions whose act had this outcome, as its program says.
       * @enum {string}
       */
      outcome?: 'failed' | 'unknown';
      /** @description Only permissions that this connection made, in their order. */
      connection_id?: string;
      /** @description Only permissions that this member decided or voted on, in the order of their last vote or decision. Not for agents. */
      decided_by?: string;
    };
    GetPermissionQuery: {
      /**
       * @description The greatest number of seconds that the answer waits for the decision.
       * @default 0
       */
      wait?: number;
    };
    IntrospectTokenAnswer:
      | components['schemas']['ActiveToken']
      | components['schemas']['InactiveToken'];
    ListPoliciesQuery: {
      /**
       * @description The greatest number of items on the page.
       * @default 20
       */
      limit?: number;
      /** @description The `next_cursor` of the previous page. It works only for the same account and the same filters. */
      cursor?: string;
    };
    ListAuditEntriesQuery: {
      /**
       * @description The greatest number of items on the page.
       * @default 50
       */
      limit?: number;
      /** @description The `next_cursor` of the previous page. It works only for the same account and the same filters. */
      cursor?: string;
      /** @description Only entries of this agent. */
      agent_id?: string;
      /** @description Only entries of this permission. */
      permission_id?: string;
      /** @description Only entries of this type. */
      event_type?: components['schemas']['EventType'];
      /** @description Only entries of exactly this action. */
      action?: string;
      /** @description Only entries of exactly this resource. With `*` at the end, of the resources that begin with the rest. */
      resource?: string;
      /** @description Only entries whose `details` name this id as `decided_by`, or as one who voted. */
      decided_by?: string;
      /** @description Only entries whose scope has a number under this name at its top level. Needs `scope_min`, `scope_max` or both. */
      scope_key?: string;
      /** @description The least value of the number that `scope_key` names. */
      scope_min?: number;
      /** @description The greatest value of the number that `scope_key` names. */
      scope_max?: number;
      /**
       * @description Only from this time on. A date means the midnight in UTC that begins it.
       * @example 2026-01-01
       */
      start_date?: string;
      /**
       * @description Only before this time. A date means the midnight in UTC that ends it. Not before `start_date`.
       * @example 2026-01-31
       */
      end_date?: string;
      /**
       * @description Newest first, or oldest first.
       * @default desc
       * @enum {string}
       */
      order?: 'desc' | 'asc';
      /** @description Only entries after this position in the log. Needs `order=asc`, and is a filter: send it with every `cursor`. */
      after_sequence?: number;
    };
    GetAuditHistogramQuery: {
      /**
       * @description Only from this time on. A date means the midnight in UTC that begins it.
       * @example 2026-01-01
       */
      start_date: string;
      /**
       * @description Only before this time. A date means the midnight in UTC that ends it. Not before `start_date`.
       * @example 2026-01-31
       */
      end_date: string;
      /**
       * @description Into how many buckets of equal length the time is divided.
       * @default 60
       */
      buckets?: number;
    };
    /**
     * @example {
     *       "format": "csv",
     *       "start_date": "2026-01-01",
     *       "end_date": "2026-01-31",
     *       "include_details": true
     *     }
     */
    CreateAuditExportInput: {
      /**
       * @default json
       * @enum {string}
       */
      format?: 'csv' | 'json' | 'parquet';
      /** @description Entries from this time on. A bare date means its midnight in UTC. */
      start_date: string;
      /** @description Entries before this time. A bare date means the end of that day. What is after today means the end of today. */
      end_date: string;
      /** @description Entries of this agent. */
      agent_id?: string;
      /** @description Entries of these types. */
      event_types?: ('request' | 'approve' | 'deny' | 'use' | 'expire' | 'revoke')[];
      /** @description Entries of exactly this action. */
      action?: string;
      /** @description Only entries of exactly this resource. With `*` at the end, of the resources that begin with the rest. */
      resource?: string;
      /** @description Only entries whose `details` name this id as `decided_by`, or as one who voted. */
      decided_by?: string;
      /** @description Only entries whose scope has a number under this name at its top level. Needs `scope_min`, `scope_max` or both. */
      scope_key?: string;
      /** @description The least value of the number that `scope_key` names. */
      scope_min?: number;
      /** @description The greatest value of the number that `scope_key` names. */
      scope_max?: number;
      /**
       * @description Whether each entry comes with its details.
       * @default false
       */
      include_details?: boolean;
      /**
       * @description Whether the file begins with a byte order mark, for Excel. Only for CSV.
       * @default false
       */
      bom?: boolean;
    };
    ListAuditExportsQuery: {
      /**
       * @description The greatest number of items on the page.
       * @default 20
       */
      limit?: number;
      /** @description The `next_cursor` of the previous page. It works only for the same account and the same filters. */
      cursor?: string;
    };
    GetCheckpointQuery: {
      /**
       * @description With `true`, the newest head that a witness has cosigned, with the cosignatures.
       * @enum {string}
       */
      witnessed?: 'true' | 'false';
    };
    ProveConsistencyQuery: {
      /**
       * @description The older size: the `tree_size` of a head that you kept.
       * @example 1
       */
      from: number;
      /**
       * @description The newer size, at most that of the newest head.
       * @example 2
       */
      to: number;
    };
    ListActivityQuery: {
      /**
       * @description The greatest number of items on the page.
       * @default 50
       */
      limit?: number;
      /** @description The `next_cursor` of the previous page. It works only for the same account and the same filters. */
      cursor?: string;
      /** @description Only actions of this kind. */
      action?: components['schemas']['ActivityAction'];
      /** @description Only actions on the object with this id. */
      target?: string;
      /** @description Only actions by this actor. */
      actor?: string;
      /**
       * @description Only from this time on. A date means the midnight in UTC that begins it.
       * @example 2026-01-01
       */
      start_date?: string;
      /**
       * @description Only before this time. A date means the midnight in UTC that ends it. Not before `start_date`.
       * @example 2026-01-31
       */
      end_date?: string;
    };
    DownloadFileQuery: {
      /** @default file */
      document?: string;
      /** @default  */
      account?: string;
      /** @default  */
      shard?: string;
      /** @default  */
      expires?: string;
      /** @default  */
      signature?: string;
    };
    /**
     * @example {
     *       "report_type": "soc2_type2",
     *       "period": {
     *         "start": "2026-01-01",
     *         "end": "2026-01-31"
     *       }
     *     }
     */
    CreateComplianceReportInput: {
      /**
       * @description The framework that the report is about.
       * @enum {string}
       */
      report_type: 'soc2_type1' | 'soc2_type2' | 'iso27001' | 'hipaa' | 'gdpr' | 'eu_ai_act';
      /**
       * @example {
       *       "start": "2026-01-01",
       *       "end": "2026-01-31"
       *     }
       */
      period: {
        /**
         * Format: date
         * @description The first day, in UTC.
         */
        start: string;
        /**
         * Format: date
         * @description The last day; today if it is later. At most 366 days in all.
         */
        end: string;
      };
      /**
       * @default pdf
       * @enum {string}
       */
      format?: 'pdf' | 'json';
    };
    ListComplianceReportsQuery: {
      /**
       * @description The greatest number of items on the page.
       * @default 20
       */
      limit?: number;
      /** @description The `next_cursor` of the previous page. It works only for the same account and the same filters. */
      cursor?: string;
    };
    ListWebhooksQuery: {
      /**
       * @description The greatest number of items on the page.
       * @default 20
       */
      limit?: number;
      /** @description The `next_cursor` of the previous page. It works only for the same account and the same filters. */
      cursor?: string;
    };
    ListDeliveriesQuery: {
      /**
       * @description The greatest number of items on the page.
       * @default 20
       */
      limit?: number;
      /** @description The `next_cursor` of the previous page. It works only for the same account and the same filters. */
      cursor?: string;
      /** @description Only deliveries with this status. */
      status?: components['schemas']['DeliveryStatus'];
    };
    ListChannelsQuery: {
      /**
       * @description The greatest number of items on the page.
       * @default 20
       */
      limit?: number;
      /** @description The `next_cursor` of the previous page. It works only for the same account and the same filters. */
      cursor?: string;
    };
    ListChannelDeliveriesQuery: {
      /**
       * @description The greatest number of items on the page.
       * @default 20
       */
      limit?: number;
      /** @description The `next_cursor` of the previous page. It works only for the same account and the same filters. */
      cursor?: string;
      /** @description Only deliveries with this status. */
      status?: components['schemas']['DeliveryStatus'];
    };
    ListNotificationsQuery: {
      /**
       * @description The greatest number of items on the page.
       * @default 20
       */
      limit?: number;
      /** @description The `next_cursor` of the previous page. It works only for the same account and the same filters. */
      cursor?: string;
    };
    ListConnectionsQuery: {
      /**
       * @description The greatest number of items on the page.
       * @default 20
       */
      limit?: number;
      /** @description The `next_cursor` of the previous page. It works only for the same account and the same filters. */
      cursor?: string;
    };
    GetConnectionReadsQuery: {
      /**
       * @description How many UTC days, today included.
       * @default 7
       */
      days?: number;
    };
    /**
     * @example {
     *       "openapi": "3.1.0",
     *       "info": {},
     *       "paths": {}
     *     }
     */
    GetApiDescriptionAnswer: {
      openapi: string;
      info: {
        [key: string]: unknown;
      };
      paths: {
        [key: string]: unknown;
      };
    } & {
      [key: string]: unknown;
    };
  };
  responses: never;
  parameters: never;
  requestBodies: never;
  headers: never;
  pathItems: never;
}
export type AccountCreation = components['schemas']['AccountCreation'];
export type Plan = components['schemas']['Plan'];
export type AccountUpdate = components['schemas']['AccountUpdate'];
export type UserTokenCreation = components['schemas']['UserTokenCreation'];
export type Scope = components['schemas']['Scope'];
export type OwnerInvitation = components['schemas']['OwnerInvitation'];
export type StopRequest = components['schemas']['StopRequest'];
export type NoFields = components['schemas']['NoFields'];
export type PairingExchange = components['schemas']['PairingExchange'];
export type MemberInvitation = components['schemas']['MemberInvitation'];
export type MemberRole = components['schemas']['MemberRole'];
export type MemberStatus = components['schemas']['MemberStatus'];
export type MemberUpdate = components['schemas']['MemberUpdate'];
export type AgentCreation = components['schemas']['AgentCreation'];
export type AgentUpdate = components['schemas']['AgentUpdate'];
export type KeyRotation = components['schemas']['KeyRotation'];
export type PermissionRequest = components['schemas']['PermissionRequest'];
export type SeriesInput = components['schemas']['SeriesInput'];
export type Preview = components['schemas']['Preview'];
export type PermissionStatus = components['schemas']['PermissionStatus'];
export type Approval = components['schemas']['Approval'];
export type AuthenticationResponse = components['schemas']['AuthenticationResponse'];
export type Denial = components['schemas']['Denial'];
export type StatementRequest = components['schemas']['StatementRequest'];
export type OutcomeReport = components['schemas']['OutcomeReport'];
export type TokenUse = components['schemas']['TokenUse'];
export type TokenRevocation = components['schemas']['TokenRevocation'];
export type TokenIntrospection = components['schemas']['TokenIntrospection'];
export type PolicyCreation = components['schemas']['PolicyCreation'];
export type PolicyEffect = components['schemas']['PolicyEffect'];
export type ReviewInput = components['schemas']['ReviewInput'];
export type PolicyBudget = components['schemas']['PolicyBudget'];
export type PolicySimulation = components['schemas']['PolicySimulation'];
export type PolicyReplay = components['schemas']['PolicyReplay'];
export type PolicyUpdate = components['schemas']['PolicyUpdate'];
export type EventType = components['schemas']['EventType'];
export type ActivityAction = components['schemas']['ActivityAction'];
export type LogRestoration = components['schemas']['LogRestoration'];
export type WebhookCreation = components['schemas']['WebhookCreation'];
export type WebhookEvent = components['schemas']['WebhookEvent'];
export type WebhookUpdate = components['schemas']['WebhookUpdate'];
export type DeliveryStatus = components['schemas']['DeliveryStatus'];
export type ChannelCreation = components['schemas']['ChannelCreation'];
export type ChannelEvent = components['schemas']['ChannelEvent'];
export type ChannelFilter = components['schemas']['ChannelFilter'];
export type EmailConfig = components['schemas']['EmailConfig'];
export type SlackConfig = components['schemas']['SlackConfig'];
export type ChannelUpdate = components['schemas']['ChannelUpdate'];
export type NotificationSettingsUpdate = components['schemas']['NotificationSettingsUpdate'];
export type ConnectionCreation = components['schemas']['ConnectionCreation'];
export type ConnectionAuthInput = components['schemas']['ConnectionAuthInput'];
export type ConnectionRule = components['schemas']['ConnectionRule'];
export type ConnectionUpdate = components['schemas']['ConnectionUpdate'];
export type ConnectionTest = components['schemas']['ConnectionTest'];
export type Health = components['schemas']['Health'];
export type CreatedAccount = components['schemas']['CreatedAccount'];
export type Stop = components['schemas']['Stop'];
export type CreatedUserToken = components['schemas']['CreatedUserToken'];
export type Invitation = components['schemas']['Invitation'];
export type InvitedMember = components['schemas']['InvitedMember'];
export type Account = components['schemas']['Account'];
export type AccountErasure = components['schemas']['AccountErasure'];
export type OwnAccount = components['schemas']['OwnAccount'];
export type Member = components['schemas']['Member'];
export type StopState = components['schemas']['StopState'];
export type UserToken = components['schemas']['UserToken'];
export type Session = components['schemas']['Session'];
export type Passkey = components['schemas']['Passkey'];
export type MemberDetails = components['schemas']['MemberDetails'];
export type MemberLeaves = components['schemas']['MemberLeaves'];
export type CreatedAgent = components['schemas']['CreatedAgent'];
export type Agent = components['schemas']['Agent'];
export type RotatedKey = components['schemas']['RotatedKey'];
export type AgentStatistics = components['schemas']['AgentStatistics'];
export type Permission = components['schemas']['Permission'];
export type TokenSummary = components['schemas']['TokenSummary'];
export type TokenStatus = components['schemas']['TokenStatus'];
export type Series = components['schemas']['Series'];
export type Review = components['schemas']['Review'];
export type ReviewVote = components['schemas']['ReviewVote'];
export type Outcome = components['schemas']['Outcome'];
export type OutcomeStatus = components['schemas']['OutcomeStatus'];
export type SeriesUsage = components['schemas']['SeriesUsage'];
export type Statement = components['schemas']['Statement'];
export type UsedToken = components['schemas']['UsedToken'];
export type Revocation = components['schemas']['Revocation'];
export type ActiveToken = components['schemas']['ActiveToken'];
export type InactiveToken = components['schemas']['InactiveToken'];
export type KeySet = components['schemas']['KeySet'];
export type PublicKey = components['schemas']['PublicKey'];
export type ServerMetadata = components['schemas']['ServerMetadata'];
export type Policy = components['schemas']['Policy'];
export type PolicyCondition = components['schemas']['PolicyCondition'];
export type ReviewRule = components['schemas']['ReviewRule'];
export type PolicyUsage = components['schemas']['PolicyUsage'];
export type Simulation = components['schemas']['Simulation'];
export type Replay = components['schemas']['Replay'];
export type AuditEntry = components['schemas']['AuditEntry'];
export type AuditDetails = components['schemas']['AuditDetails'];
export type EntryVote = components['schemas']['EntryVote'];
export type AuditHistogram = components['schemas']['AuditHistogram'];
export type AuditExport = components['schemas']['AuditExport'];
export type NamedCheckpoint = components['schemas']['NamedCheckpoint'];
export type ConsistencyProof = components['schemas']['ConsistencyProof'];
export type InclusionProof = components['schemas']['InclusionProof'];
export type Checkpoint = components['schemas']['Checkpoint'];
export type Activity = components['schemas']['Activity'];
export type LogContinuation = components['schemas']['LogContinuation'];
export type Receipt = components['schemas']['Receipt'];
export type ComplianceReport = components['schemas']['ComplianceReport'];
export type WebhookWithSecret = components['schemas']['WebhookWithSecret'];
export type Webhook = components['schemas']['Webhook'];
export type Delivery = components['schemas']['Delivery'];
export type DeliveryEvent = components['schemas']['DeliveryEvent'];
export type DeliveryDetail = components['schemas']['DeliveryDetail'];
export type DeliveryAttempt = components['schemas']['DeliveryAttempt'];
export type Channel = components['schemas']['Channel'];
export type ChannelKind = components['schemas']['ChannelKind'];
export type ChannelDelivery = components['schemas']['ChannelDelivery'];
export type ChannelDeliveryDetail = components['schemas']['ChannelDeliveryDetail'];
export type Notification = components['schemas']['Notification'];
export type NotificationSettings = components['schemas']['NotificationSettings'];
export type PushDevice = components['schemas']['PushDevice'];
export type SlackResponse = components['schemas']['SlackResponse'];
export type Connection = components['schemas']['Connection'];
export type ConnectionAuth = components['schemas']['ConnectionAuth'];
export type ConnectionTestResult = components['schemas']['ConnectionTestResult'];
export type ConnectionReads = components['schemas']['ConnectionReads'];
export type ConnectionRuleOutput = components['schemas']['ConnectionRuleOutput'];
export type SeriesInputOutput = components['schemas']['SeriesInputOutput'];
export type ListAccountsQuery = components['schemas']['ListAccountsQuery'];
export type ListUserTokensQuery = components['schemas']['ListUserTokensQuery'];
export type ListSessionsQuery = components['schemas']['ListSessionsQuery'];
export type ListPasskeysQuery = components['schemas']['ListPasskeysQuery'];
export type ListMembersQuery = components['schemas']['ListMembersQuery'];
export type ListAgentsQuery = components['schemas']['ListAgentsQuery'];
export type GetAgentStatisticsQuery = components['schemas']['GetAgentStatisticsQuery'];
export type ListPermissionsQuery = components['schemas']['ListPermissionsQuery'];
export type GetPermissionQuery = components['schemas']['GetPermissionQuery'];
export type IntrospectTokenAnswer = components['schemas']['IntrospectTokenAnswer'];
export type ListPoliciesQuery = components['schemas']['ListPoliciesQuery'];
export type ListAuditEntriesQuery = components['schemas']['ListAuditEntriesQuery'];
export type GetAuditHistogramQuery = components['schemas']['GetAuditHistogramQuery'];
export type CreateAuditExportInput = components['schemas']['CreateAuditExportInput'];
export type ListAuditExportsQuery = components['schemas']['ListAuditExportsQuery'];
export type GetCheckpointQuery = components['schemas']['GetCheckpointQuery'];
export type ProveConsistencyQuery = components['schemas']['ProveConsistencyQuery'];
export type ListActivityQuery = components['schemas']['ListActivityQuery'];
export type DownloadFileQuery = components['schemas']['DownloadFileQuery'];
export type CreateComplianceReportInput = components['schemas']['CreateComplianceReportInput'];
export type ListComplianceReportsQuery = components['schemas']['ListComplianceReportsQuery'];
export type ListWebhooksQuery = components['schemas']['ListWebhooksQuery'];
export type ListDeliveriesQuery = components['schemas']['ListDeliveriesQuery'];
export type ListChannelsQuery = components['schemas']['ListChannelsQuery'];
export type ListChannelDeliveriesQuery = components['schemas']['ListChannelDeliveriesQuery'];
export type ListNotificationsQuery = components['schemas']['ListNotificationsQuery'];
export type ListConnectionsQuery = components['schemas']['ListConnectionsQuery'];
export type GetConnectionReadsQuery = components['schemas']['GetConnectionReadsQuery'];
export type GetApiDescriptionAnswer = components['schemas']['GetApiDescriptionAnswer'];
