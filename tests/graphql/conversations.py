"""Documents that branch and share sessions."""

BRANCH = """mutation($data: BranchSessionInput!) {
    branchSession(branchData: $data) {session {handle lastSeq} run seq}
}"""
LINK = "query($session: String!) {sharedLink(session: $session) {url lastSeq created}}"
SHARE = "mutation($session: String!) {shareSession(session: $session) {link {url lastSeq created}}}"
REVOKE = "mutation($session: String!) {revokeSharedLink(session: $session) {session {handle}}}"
