//! Plain async functions as nodes.
//!
//! A node is any function over extractors (see [`crate::graph::extract`]) that returns a supported output (see
//! [`crate::graph::output`]). This module erases its type: the run loop only sees a [`DynNode`].

use std::future::ready;
use std::marker::PhantomData;
use std::sync::Arc;

use superstep_core::command::TaskOutput;
use superstep_core::port::BoxFuture;

use crate::engine::context::TaskContext;
use crate::engine::executor::run_blocking;
use crate::graph::builder::Blocking;
use crate::graph::extract::FromTask;
use crate::graph::node::NodePolicies;
use crate::graph::output::{IntoOutput, NodeError};

/// Object-safe form of a node.
pub trait DynNode: Send + Sync + 'static {
    /// Runs the node once.
    fn call(&self, cx: &TaskContext) -> BoxFuture<'static, Result<TaskOutput, NodeError>>;
}

/// A node as a type, for nodes with data.
///
/// ```
/// use superstep::prelude::*;
/// # #[derive(GraphState, Clone, Serialize, Deserialize)] struct Count { #[reduce(add)] n: u64 }
/// struct AddTo(u64);
/// impl Node<Count> for AddTo {
///     type Output = CountUpdate;
///     async fn run(&self, _cx: TaskContext) -> Result<CountUpdate, NodeError> { Ok(Count::update().n(self.0)) }
/// }
/// let mut graph = StateGraph::<Count>::new("count");
/// let add = graph.add_node("add", AddTo(2));
/// # graph.add_edge(START, add); graph.add_edge(add, END); graph.compile().unwrap();
/// ```
pub trait Node<S, C = ()>: Send + Sync + 'static {
    /// Return type: nothing, an update, a command, sends.
    type Output: IntoOutput<S>;

    /// Runs the node once.
    fn run(&self, cx: TaskContext) -> impl Future<Output = Result<Self::Output, NodeError>> + Send;
}

/// A type that can be a node of a graph over state `S` with context `C`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a node of a graph over `{S}`",
    label = "not a valid node",
    note = "a node is an `async fn` (or a closure, or a plain `fn`) whose arguments are extractors: `View<State>`, `RunContext<Context>`, `SendPayload<T>`, `Interrupts`, `StreamWriter`, `TaskInfo`, `TaskContext`",
    note = "and which returns nothing, an update such as `{S}::update()`, a `Command`, `SendTo`s, or a `Result` of these"
)]
pub trait IntoNode<S, C, Marker> {
    /// Erases the type of the node.
    fn into_dyn_node(self) -> Arc<dyn DynNode>;

    /// Erases the type of the node, and returns its policies.
    #[doc(hidden)]
    fn into_parts(self) -> (Arc<dyn DynNode>, NodePolicies)
    where
        Self: Sized,
    {
        (self.into_dyn_node(), NodePolicies::default())
    }
}

/// Marker of async functions.
pub struct AsyncMarker<T>(PhantomData<T>);
/// Marker of synchronous functions.
pub struct SyncMarker<T>(PhantomData<T>);
/// Marker of blocking functions.
pub struct BlockingMarker<T>(PhantomData<T>);
/// Marker of types that implement [`Node`].
pub struct NodeTypeMarker;

struct FunctionNode<F, M>(Arc<F>, PhantomData<fn() -> M>);
struct TypedNode<N, S, C>(Arc<N>, PhantomData<fn() -> (S, C)>);

impl<S: 'static, C: 'static, N: Node<S, C>> IntoNode<S, C, NodeTypeMarker> for N {
    fn into_dyn_node(self) -> Arc<dyn DynNode> {
        Arc::new(TypedNode::<N, S, C>(Arc::new(self), PhantomData))
    }
}

impl<S: 'static, C: 'static, N: Node<S, C>> DynNode for TypedNode<N, S, C> {
    fn call(&self, cx: &TaskContext) -> BoxFuture<'static, Result<TaskOutput, NodeError>> {
        let (node, cx) = (self.0.clone(), cx.clone());
        Box::pin(async move { node.run(cx).await?.into_output() })
    }
}

macro_rules! functions_are_nodes {
    ($($argument:ident),*) => {
        impl<Func, Fut, Out, S, C, $($argument,)*> IntoNode<S, C, AsyncMarker<(S, C, Fut, Out, $($argument,)*)>> for Func
        where
            S: 'static, C: 'static,
            Func: Fn($($argument),*) -> Fut + Send + Sync + 'static,
            Fut: Future<Output = Out> + Send + 'static,
            Out: IntoOutput<S> + 'static,
            $($argument: FromTask<S, C> + 'static,)*
        {
            fn into_dyn_node(self) -> Arc<dyn DynNode> {
                Arc::new(FunctionNode::<Func, AsyncMarker<(S, C, Fut, Out, $($argument,)*)>>(Arc::new(self), PhantomData))
            }
        }

        impl<Func, Fut, Out, S, C, $($argument,)*> DynNode for FunctionNode<Func, AsyncMarker<(S, C, Fut, Out, $($argument,)*)>>
        where
            S: 'static, C: 'static,
            Func: Fn($($argument),*) -> Fut + Send + Sync + 'static,
            Fut: Future<Output = Out> + Send + 'static,
            Out: IntoOutput<S> + 'static,
            $($argument: FromTask<S, C> + 'static,)*
        {
            #[allow(unused_variables, non_snake_case, reason = "a node without arguments extracts nothing")]
            fn call(&self, cx: &TaskContext) -> BoxFuture<'static, Result<TaskOutput, NodeError>> {
                $(let $argument = match $argument::from_task(cx) {
                    Ok(argument) => argument,
                    Err(error) => return Box::pin(ready(Err(error))),
                };)*
                let future = (self.0)($($argument),*);
                Box::pin(async move { future.await.into_output() })
            }
        }

        impl<Func, Out, S, C, $($argument,)*> IntoNode<S, C, SyncMarker<(S, C, Out, $($argument,)*)>> for Func
        where
            S: 'static, C: 'static,
            Func: Fn($($argument),*) -> Out + Send + Sync + 'static,
            Out: IntoOutput<S> + 'static,
            $($argument: FromTask<S, C> + 'static,)*
        {
            fn into_dyn_node(self) -> Arc<dyn DynNode> {
                Arc::new(FunctionNode::<Func, SyncMarker<(S, C, Out, $($argument,)*)>>(Arc::new(self), PhantomData))
            }

            fn into_parts(self) -> (Arc<dyn DynNode>, NodePolicies) {
                let action = <Self as IntoNode<S, C, SyncMarker<(S, C, Out, $($argument,)*)>>>::into_dyn_node(self);
                (action, NodePolicies { is_sync: true, ..NodePolicies::default() })
            }
        }

        impl<Func, Out, S, C, $($argument,)*> DynNode for FunctionNode<Func, SyncMarker<(S, C, Out, $($argument,)*)>>
        where
            S: 'static, C: 'static,
            Func: Fn($($argument),*) -> Out + Send + Sync + 'static,
            Out: IntoOutput<S> + 'static,
            $($argument: FromTask<S, C> + 'static,)*
        {
            #[allow(unused_variables, non_snake_case, reason = "a node without arguments extracts nothing")]
            fn call(&self, cx: &TaskContext) -> BoxFuture<'static, Result<TaskOutput, NodeError>> {
                $(let $argument = match $argument::from_task(cx) {
                    Ok(argument) => argument,
                    Err(error) => return Box::pin(ready(Err(error))),
                };)*
                Box::pin(ready((self.0)($($argument),*).into_output()))
            }
        }

        #[diagnostic::do_not_recommend]
        impl<Func, Out, S, C, $($argument,)*> IntoNode<S, C, BlockingMarker<(S, C, Out, $($argument,)*)>> for Blocking<Func>
        where
            S: 'static, C: 'static,
            Func: Fn($($argument),*) -> Out + Send + Sync + 'static,
            Out: IntoOutput<S> + 'static,
            $($argument: FromTask<S, C> + Send + 'static,)*
        {
            fn into_dyn_node(self) -> Arc<dyn DynNode> {
                Arc::new(FunctionNode::<Func, BlockingMarker<(S, C, Out, $($argument,)*)>>(Arc::new(self.0), PhantomData))
            }
        }

        impl<Func, Out, S, C, $($argument,)*> DynNode for FunctionNode<Func, BlockingMarker<(S, C, Out, $($argument,)*)>>
        where
            S: 'static, C: 'static,
            Func: Fn($($argument),*) -> Out + Send + Sync + 'static,
            Out: IntoOutput<S> + 'static,
            $($argument: FromTask<S, C> + Send + 'static,)*
        {
            #[allow(unused_variables, non_snake_case, reason = "a node without arguments extracts nothing")]
            fn call(&self, cx: &TaskContext) -> BoxFuture<'static, Result<TaskOutput, NodeError>> {
                $(let $argument = match $argument::from_task(cx) {
                    Ok(argument) => argument,
                    Err(error) => return Box::pin(ready(Err(error))),
                };)*
                let work = self.0.clone();
                Box::pin(async move { run_blocking(move || work($($argument),*).into_output()).await? })
            }
        }
    };
}

functions_are_nodes!();
functions_are_nodes!(T1);
functions_are_nodes!(T1, T2);
functions_are_nodes!(T1, T2, T3);
functions_are_nodes!(T1, T2, T3, T4);
functions_are_nodes!(T1, T2, T3, T4, T5);
functions_are_nodes!(T1, T2, T3, T4, T5, T6);
