import type { Id, Prefix } from '../lib/typeid';

// The values of the examples in the API's description. They all belong to one agent and its one
// permission request.

/** The identifier of each kind in the examples. */
export function exampleId<P extends Prefix>(prefix: P): Id<P> {
  return `${prefix}_01m7x1m1tre75vaz5yvpbmvt6m`;
}

export const EXAMPLE = {
  origin: 'https://countersign.example.com',
  time: '2026-01-31T12:00:00.000Z',
  laterTime: '2026-01-31T12:15:00.000Z',
  userToken: 'csu_008tViZ1sMxLgpn3J1RJiuLyktiYJBiA2Y3LJuJ2',
  agentKey: 'csa_00DAEY1qzkZImONKQuwvxBDS9629UQFCzG2M1zjX',
  invitation: 'csi_00m4QkV7tR2yXw9LpZ3sHc6JdN8bGf5TaE0r4k63',
  token:
    'eyJhbGciOiJFZERTQSIsInR5cCI6ImF0K2p3dCJ9.eyJqdGkiOiJ0b2tlbl8wMW03eCJ9.RWQyNTUxOSBzaWduYXR1cmU',
  cursor: 'OKF5hL0mAb2Wlq7cXcVd1mFnZW50XzAxbTd4',
  action: 'email.send',
  resource: 'mailbox:support',
  scope: { max_recipients: 50 },
  narrowedScope: { max_recipients: 10 },
  ipAddress: '203.0.113.7',
  userAgent: 'mail-assistant/1.0',
};
