"""The documents of the published client `fixieai` 1.0.4, word for word."""

GET_AGENTS = """
query getAgents {
    allAgents {
        agentId
        name
        description
        moreInfoUrl
    }
}
"""

GET_SESSIONS = """
query getSessions {
    allSessions {
        handle
    }
}
"""

GET_USERNAME = """
query getUsername {
    user {
        username
        firstName
        lastName
        email
        organization {
            handle
            name
        }
        dailyQueryLimit
        dailyUsedQueries
        avatar
    }
}
"""

CREATE_AGENT_REVISION = """
mutation CreateAgentRevision(
    $handle: String!,
    $metadata: [RevisionMetadataKeyValuePairInput!]!,
    $makeCurrent: Boolean!,
    $externalDeployment: ExternalDeploymentInput,
    $managedDeployment: ManagedDeploymentInput,
    $reindexCorpora: Boolean!,
) {
    createAgentRevision(agentHandle: $handle, makeCurrent: $makeCurrent, revision: {
        metadata: $metadata
        externalDeployment: $externalDeployment
        managedDeployment: $managedDeployment
    }, reindexCorpora: $reindexCorpora) {
        revision {
            id
        }
    }
}
"""

GET_REVISION_ID = """
query GetRevisionId($agentId: String!) {
    agentById(agentId: $agentId) {
        currentRevision {
            id
        }
    }
}
"""

SET_CURRENT_AGENT_REVISION = """
mutation SetCurrentAgentRevision(
    $handle: String!,
    $currentRevisionId: ID!) {
    updateAgent(
        agentData: {
            handle: $handle,
            currentRevisionId: $currentRevisionId
        }
    ) {
        agent {
            agentId
        }
    }
}
"""

DELETE_REVISION = """
mutation DeleteRevision($handle: String!, $revisionId: ID!) {
    deleteAgentRevision(agentHandle: $handle, revisionId: $revisionId) {
        agent {
            agentId
        }
    }
}
"""

GET_AGENT_BY_ID = """
query getAgentById($agentId: String!) {
    agentById(agentId: $agentId) {
        agentId
        handle
        name
        description
        queries
        moreInfoUrl
        published
        owner {
            __typename
            ... on UserType {
                username
            }
            ... on OrganizationType {
                handle
            }
        }
        queryUrl
        funcUrl
        created
        modified
    }
}
"""

CREATE_AGENT = """
mutation CreateAgent(
    $handle: String!,
    $name: String,
    $description: String!,
    $queryUrl: String,
    $funcUrl: String,
    $moreInfoUrl: String,
    $published: Boolean) {
    createAgent(
        agentData: {
            handle: $handle,
            name: $name,
            description: $description,
            queryUrl: $queryUrl,
            funcUrl: $funcUrl,
            moreInfoUrl: $moreInfoUrl,
            published: $published
        }
    ) {
        agent {
            agentId
        }
    }
}
"""

UPDATE_AGENT = """
mutation UpdateAgent(
    $handle: String!,
    $newHandle: String,
    $name: String,
    $description: String,
    $queryUrl: String,
    $funcUrl: String,
    $moreInfoUrl: String,
    $published: Boolean) {
    updateAgent(
        agentData: {
            handle: $handle,
            newHandle: $newHandle,
            name: $name,
            description: $description,
            queryUrl: $queryUrl,
            funcUrl: $funcUrl,
            moreInfoUrl: $moreInfoUrl,
            published: $published
        }
    ) {
        agent {
            agentId
        }
    }
}
"""

DELETE_AGENT = """
mutation DeleteAgent($owner: String!, $handle: String!) {
    deleteAgent(agentData: {owner: $owner, handle: $handle}) {
        agent {
            handle
        }
    }
}
"""

CREATE_SESSION = """
mutation CreateSession($frontendAgentId: String) {
    createSession(sessionData: {frontendAgentId: $frontendAgentId}) {
        session {
            handle
            frontendAgentId
        }
    }
}
"""

GET_SESSION = """
query getSession($session_id: String!) {
    sessionByHandle(handle: $session_id) {
        handle
        name
        description
        frontendAgentId
    }
}
"""

DELETE_SESSION = """
mutation DeleteSession($handle: String!) {
    deleteSession(handle: $handle) {
        session {
            handle
        }
    }
}
"""

GET_EMBEDS = """
query getEmbeds($handle: String!) {
    sessionByHandle(handle: $handle) {
        embeds {
            key
            embed {
                id
                contentType
                created
                contentHash
                owner {
                    username
                }
                url
            }
        }
    }
}
"""

GET_MESSAGES = """
query getMessages($handle: String!) {
    sessionByHandle(handle: $handle) {
        messages {
            id
            text
            sentBy {
                handle
            }
            type
            inReplyTo { id }
            timestamp
        }
    }
}
"""

GET_SAMPLE_QUERIES = """
query GetSampleQueries($agentId: String!) {
    agentById(agentId: $agentId) {
        queries
    }
}
"""

GET_REVISIONS = """
query GetRevisions($agentId: String!) {
    agentById(agentId: $agentId) {
        allRevisions {
            id
            created
            isCurrent
            indexedCorpora {
                status
                created
                modified
                vectorCount
            }
            deployment {
                __typename
                ... on ExternalDeployment {
                    url
                }
                ... on ManagedDeployment {
                    environment
                }
            }
            metadata {
                key
                value
            }
        }
    }
}
"""
