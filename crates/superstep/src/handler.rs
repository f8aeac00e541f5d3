//! Plain async functions as nodes.
//!
//! A node is any function over extractors (see [`crate::extract`]) that returns something that is an
//! output (see [`crate::output`]). Here it loses its types: the loop only ever sees an [`Action`].

use std::future::ready;
use std::marker::PhantomData;
use std::sync::Arc;

use superstep_core::command::Output;
use superstep_core::port::BoxFuture;

use crate::context::Cx;
use crate::executor::run_blocking;
use crate::extract::FromTask;
use crate::graph::Blocking;
use crate::node::Policies;
use crate::output::{IntoOutput, NodeError};

/// What a node does, without its types.
pub trait Action: Send + Sync + 'static {
    /// Runs the node once.
    fn call(&self, cx: &Cx) -> BoxFuture<'static, Result<Output, NodeError>>;
}

/// A node as a type of its own, for nodes that hold something.
///
/// ```
/// use superstep::prelude::*;
/// # #[derive(State, Clone, Serialize, Deserialize)] struct Count { #[reduce(add)] n: u64 }
/// struct AddTo(u64);
/// impl Node<Count> for AddTo {
///     type Output = CountUpdate;
///     async fn run(&self, _cx: Cx) -> Result<CountUpdate, NodeError> { Ok(Count::update().n(self.0)) }
/// }
/// let mut graph = Graph::<Count>::new("count");
/// let add = graph.node("add", AddTo(2));
/// # graph.edge(START, add); graph.edge(add, END); graph.compile().unwrap();
/// ```
pub trait Node<S, C = ()>: Send + Sync + 'static {
    /// What it returns: nothing, an update, a command, sends.
    type Output: IntoOutput<S>;

    /// Runs the node once.
    fn run(&self, cx: Cx) -> impl Future<Output = Result<Self::Output, NodeError>> + Send;
}

/// Anything that can be a node of a graph over state `S` with context `C`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a node of a graph over `{S}`",
    label = "this cannot be a node",
    note = "a node is an `async fn` (or a closure, or a plain `fn`) whose arguments are extractors: `View<State>`, `Ctx<Context>`, `Sent<T>`, `Ask`, `Writer`, `Info`, `Cx`",
    note = "and which returns nothing, an update such as `{S}::update()`, a `Command`, `Send`s, or a `Result` of these"
)]
pub trait IntoNode<S, C, Marker> {
    /// The node without its types.
    fn into_action(self) -> Arc<dyn Action>;

    /// The node without its types, and what is said about it.
    #[doc(hidden)]
    fn into_parts(self) -> (Arc<dyn Action>, Policies)
    where
        Self: Sized,
    {
        (self.into_action(), Policies::default())
    }
}

/// Marks async functions.
pub struct Async<T>(PhantomData<T>);
/// Marks functions that return at once.
pub struct AtOnce<T>(PhantomData<T>);
/// Marks functions that block.
pub struct Blocks<T>(PhantomData<T>);
/// Marks types that implement [`Node`].
pub struct Typed;

struct FunctionAction<F, M>(Arc<F>, PhantomData<fn() -> M>);
struct TypedAction<N, S, C>(Arc<N>, PhantomData<fn() -> (S, C)>);

impl<S: 'static, C: 'static, N: Node<S, C>> IntoNode<S, C, Typed> for N {
    fn into_action(self) -> Arc<dyn Action> {
        Arc::new(TypedAction::<N, S, C>(Arc::new(self), PhantomData))
    }
}

impl<S: 'static, C: 'static, N: Node<S, C>> Action for TypedAction<N, S, C> {
    fn call(&self, cx: &Cx) -> BoxFuture<'static, Result<Output, NodeError>> {
        let (node, cx) = (self.0.clone(), cx.clone());
        Box::pin(async move { node.run(cx).await?.into_output() })
    }
}

macro_rules! functions_are_nodes {
    ($($argument:ident),*) => {
        impl<Func, Fut, Out, S, C, $($argument,)*> IntoNode<S, C, Async<(S, C, Fut, Out, $($argument,)*)>> for Func
        where
            S: 'static, C: 'static,
            Func: Fn($($argument),*) -> Fut + Send + Sync + 'static,
            Fut: Future<Output = Out> + Send + 'static,
            Out: IntoOutput<S> + 'static,
            $($argument: FromTask<S, C> + 'static,)*
        {
            fn into_action(self) -> Arc<dyn Action> {
                Arc::new(FunctionAction::<Func, Async<(S, C, Fut, Out, $($argument,)*)>>(Arc::new(self), PhantomData))
            }
        }

        impl<Func, Fut, Out, S, C, $($argument,)*> Action for FunctionAction<Func, Async<(S, C, Fut, Out, $($argument,)*)>>
        where
            S: 'static, C: 'static,
            Func: Fn($($argument),*) -> Fut + Send + Sync + 'static,
            Fut: Future<Output = Out> + Send + 'static,
            Out: IntoOutput<S> + 'static,
            $($argument: FromTask<S, C> + 'static,)*
        {
            #[allow(unused_variables, non_snake_case, reason = "a node without arguments extracts nothing")]
            fn call(&self, cx: &Cx) -> BoxFuture<'static, Result<Output, NodeError>> {
                $(let $argument = match $argument::from_task(cx) {
                    Ok(argument) => argument,
                    Err(error) => return Box::pin(ready(Err(error))),
                };)*
                let future = (self.0)($($argument),*);
                Box::pin(async move { future.await.into_output() })
            }
        }

        impl<Func, Out, S, C, $($argument,)*> IntoNode<S, C, AtOnce<(S, C, Out, $($argument,)*)>> for Func
        where
            S: 'static, C: 'static,
            Func: Fn($($argument),*) -> Out + Send + Sync + 'static,
            Out: IntoOutput<S> + 'static,
            $($argument: FromTask<S, C> + 'static,)*
        {
            fn into_action(self) -> Arc<dyn Action> {
                Arc::new(FunctionAction::<Func, AtOnce<(S, C, Out, $($argument,)*)>>(Arc::new(self), PhantomData))
            }

            fn into_parts(self) -> (Arc<dyn Action>, Policies) {
                let action = <Self as IntoNode<S, C, AtOnce<(S, C, Out, $($argument,)*)>>>::into_action(self);
                (action, Policies { at_once: true, ..Policies::default() })
            }
        }

        impl<Func, Out, S, C, $($argument,)*> Action for FunctionAction<Func, AtOnce<(S, C, Out, $($argument,)*)>>
        where
            S: 'static, C: 'static,
            Func: Fn($($argument),*) -> Out + Send + Sync + 'static,
            Out: IntoOutput<S> + 'static,
            $($argument: FromTask<S, C> + 'static,)*
        {
            #[allow(unused_variables, non_snake_case, reason = "a node without arguments extracts nothing")]
            fn call(&self, cx: &Cx) -> BoxFuture<'static, Result<Output, NodeError>> {
                $(let $argument = match $argument::from_task(cx) {
                    Ok(argument) => argument,
                    Err(error) => return Box::pin(ready(Err(error))),
                };)*
                Box::pin(ready((self.0)($($argument),*).into_output()))
            }
        }

        #[diagnostic::do_not_recommend]
        impl<Func, Out, S, C, $($argument,)*> IntoNode<S, C, Blocks<(S, C, Out, $($argument,)*)>> for Blocking<Func>
        where
            S: 'static, C: 'static,
            Func: Fn($($argument),*) -> Out + Send + Sync + 'static,
            Out: IntoOutput<S> + 'static,
            $($argument: FromTask<S, C> + Send + 'static,)*
        {
            fn into_action(self) -> Arc<dyn Action> {
                Arc::new(FunctionAction::<Func, Blocks<(S, C, Out, $($argument,)*)>>(Arc::new(self.0), PhantomData))
            }
        }

        impl<Func, Out, S, C, $($argument,)*> Action for FunctionAction<Func, Blocks<(S, C, Out, $($argument,)*)>>
        where
            S: 'static, C: 'static,
            Func: Fn($($argument),*) -> Out + Send + Sync + 'static,
            Out: IntoOutput<S> + 'static,
            $($argument: FromTask<S, C> + Send + 'static,)*
        {
            #[allow(unused_variables, non_snake_case, reason = "a node without arguments extracts nothing")]
            fn call(&self, cx: &Cx) -> BoxFuture<'static, Result<Output, NodeError>> {
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
