//! Members of agent teams, shared by supervisors and swarms.

pub(crate) mod agent_subgraph;
pub(crate) mod member;
pub(crate) mod supervisor;
pub(crate) mod swarm;
