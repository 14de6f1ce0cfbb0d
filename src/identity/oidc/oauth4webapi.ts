// Loaded only by the requests that need it.
export {
  AuthorizationResponseError,
  allowInsecureRequests,
  authorizationCodeGrantRequest,
  ClientSecretBasic,
  ClientSecretPost,
  clockSkew,
  customFetch,
  None,
  OperationProcessingError,
  processAuthorizationCodeResponse,
  processUserInfoResponse,
  ResponseBodyError,
  userInfoRequest,
  validateAuthResponse,
} from 'oauth4webapi';
