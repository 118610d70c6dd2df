import Foundation

/// The objects an evaluation looks at: the rows of a store in one transaction, or what a context sees with its unsaved changes
/// on top. All of one store.
///
/// References stand for objects, see `Reference`; two are the same object when their primary keys are.
protocol ObjectView: AnyObject {
  /// One object, ready to be read.
  associatedtype Node

  var schema: Schema { get }
  /// The store whose objects these are.
  var storeIdentifier: UUID { get }

  /// The object as others refer to it.
  func reference(_ node: Node) -> UInt64
  /// The name of the entity the object is of.
  func entityName(_ node: Node) -> String
  /// The value of a slot; of a to-one relationship the reference, null for none.
  func value(_ node: Node, _ slot: Int) throws -> AttributeValue
  /// The object that a reference of `hierarchy` leads to; nil when there is none.
  func node(_ reference: UInt64, hierarchy: Int) throws -> Node?
  /// The members of a to-many relationship, in order when it has one.
  func members(_ node: Node, _ relationship: RelationshipSchema) throws -> [UInt64]
  func memberCount(_ node: Node, _ relationship: RelationshipSchema) throws -> Int
  /// Whether the node satisfies the program. The evaluation's innermost scope is the node.
  func matches(_ program: CompiledPredicate, _ node: Node, _ evaluation: Evaluation<Self>) throws -> Bool
  /// How many members of the node satisfy a test, where the view knows a shorter way than to look at each; nil where it does not.
  /// With `atMost` the number may be cut there.
  func matchingCount(
    _ test: RelatedTest, _ node: Node, atMost: Int, _ evaluation: Evaluation<Self>
  ) throws -> Int?
}

extension ObjectView {
  func matchingCount(
    _ test: RelatedTest, _ node: Node, atMost: Int, _ evaluation: Evaluation<Self>
  ) throws -> Int? { nil }

  func matches(_ program: CompiledPredicate, _ node: Node, _ evaluation: Evaluation<Self>) throws -> Bool {
    try program.evaluate(evaluation, node)
  }
}

/// No objects: for expressions that look at none.
final class NoObjects: ObjectView {
  typealias Node = Never
  let schema: Schema
  let storeIdentifier = UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))
  init(schema: Schema) { self.schema = schema }

  func reference(_ node: Never) -> UInt64 {}
  func entityName(_ node: Never) -> String {}
  func value(_ node: Never, _ slot: Int) -> AttributeValue {}
  func node(_ reference: UInt64, hierarchy: Int) -> Never? { nil }
  func members(_ node: Never, _ relationship: RelationshipSchema) -> [UInt64] {}
  func memberCount(_ node: Never, _ relationship: RelationshipSchema) -> Int {}
}
