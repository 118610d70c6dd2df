import Foundation

// Foundation's #Predicate takes no enum case: “Member access without an explicit base is not supported in this predicate” is what it says of `.paper`. Those
// here are for classes of managed objects; the compiler prefers them to the general one. Where a request takes a condition, it takes the first, which it
// finds quickest; elsewhere the second.

/// What is true of an object, as a fetch looks it up: Foundation's `#Predicate`, and cases of enums may be written in it.
///
///     try context.fetch(Book.self, where: #Predicate { $0.format == .paper && [.english, .german].contains($0.language) })
///
/// `.paper`, `Format.paper`, `Date.now` and other expressions that begin at a type are constants: computed once, where the predicate is made.
@freestanding(expression)
public macro Predicate<Root: ManagedObject>(_ body: (Root) throws -> Bool) -> ManagedPredicate<Root> =
  #externalMacro(module: "StrataModelMacros", type: "ManagedPredicateMacro")

/// The same as Foundation's `Predicate`, to keep and to evaluate.
@freestanding(expression)
public macro Predicate<Root: ManagedObject>(_ body: (Root) -> Bool) -> Predicate<Root> =
  #externalMacro(module: "StrataModelMacros", type: "PlainPredicateMacro")

/// Foundation's `#Predicate` for one object, under another name. Written by ``Predicate(_:)``.
@freestanding(expression)
public macro _FoundationPredicate<Root: ManagedObject>(_ body: (Root) -> Bool) -> Predicate<Root> =
  #externalMacro(module: "FoundationMacros", type: "PredicateMacro")

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
