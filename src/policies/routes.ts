import { Hono } from 'hono';
import { createPolicyRoute } from './create';
import { deletePolicyRoute } from './delete';
import { getPolicyRoute } from './get';
import { listPoliciesRoute } from './list';
import { replayPolicyRoute } from './replay';
import { simulatePoliciesRoute } from './simulate';
import { updatePolicyRoute } from './update';

/** The policies that decide requests: `/v1/policies`. */
export const policyRoutes = new Hono()
  .route('/', createPolicyRoute)
  .route('/', simulatePoliciesRoute)
  .route('/', replayPolicyRoute)
  .route('/', listPoliciesRoute)
  .route('/', getPolicyRoute)
  .route('/', updatePolicyRoute)
  .route('/', deletePolicyRoute);
