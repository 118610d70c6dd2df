import Foundation

// Foundation's #Predicate takes no enum case: “Member access without an explicit base is not supported in this predicate” is what it says of `.paper`. The one
// here is for classes of managed objects, which the compiler prefers to the general one where both are imported.

/// What is true of an object, as a fetch looks it up: Foundation's `#Predicate`, and cases of enums may be written in it.
///
///     #Predicate<Book> { $0.format == .paper && [.english, .german].contains($0.language) }
///
/// `.paper`, `Format.paper`, `Date.now` and other expressions that begin at a type are constants: computed once, where the predicate is made.
// Of the same shape as Foundation's, so that the compiler tries whatever it tries with both, and takes this one as the more special.
@freestanding(expression)
public macro Predicate<each Input: ManagedObject>(_ body: (repeat each Input) -> Bool) -> Predicate<
  repeat each Input
> = #externalMacro(module: "StrataModelMacros", type: "ManagedPredicateMacro")

/// Foundation's `#Predicate` under another name. Written by ``Predicate(_:)``.
@freestanding(expression)
public macro _FoundationPredicate<each Input>(_ body: (repeat each Input) -> Bool) -> Predicate<
  repeat each Input
> = #externalMacro(module: "FoundationMacros", type: "PredicateMacro")

/// A constant whose type is known from what it is compared with. Written by ``Predicate(_:)``.
@freestanding(expression)
public macro _PredicateConstant<Value>(_ expression: StaticString) -> Value =
  #externalMacro(module: "StrataModelMacros", type: "PredicateConstantMacro")

/// The same in the code that Foundation's macro writes.
@freestanding(expression)
public macro _PredicateConstant<Value>(_ expression: StaticString) -> PredicateExpressions.Constant<Value> =
  #externalMacro(module: "StrataModelMacros", type: "PredicateConstantExpressionMacro")

/// A list of such constants. Written by ``Predicate(_:)``.
@freestanding(expression)
public macro _PredicateConstants<Element>(_ expression: StaticString) -> [Element] =
  #externalMacro(module: "StrataModelMacros", type: "PredicateConstantMacro")

/// The same in the code that Foundation's macro writes.
@freestanding(expression)
public macro _PredicateConstants<Element>(
  _ expression: StaticString
) -> PredicateExpressions.Constant<[Element]> =
  #externalMacro(module: "StrataModelMacros", type: "PredicateConstantExpressionMacro")
