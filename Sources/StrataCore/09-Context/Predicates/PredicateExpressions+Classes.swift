import Foundation

// Foundation's expressions on the classes of objects: an object is of a class when its entity is the one of that class, or inherits from it.

extension PredicateExpressions.TypeCheck: LowerableExpression {
  func lowered(_ lowering: PredicateLowering) throws -> LoweredPart {
    guard case .object(let object, let known) = try lowering.part(input) else {
      throw lowering.unsupported(self, "only objects have classes; values have the types of their attributes")
    }
    guard let entity = lowering.entity(ofSubject: Desired.self, like: known) else {
      throw lowering.unsupported(
        self, "\(Desired.self) is the class of no entity in the hierarchy of \(known.name)")
    }
    return .condition(lowering.isOf(entity, object), guards: [])
  }
}

extension PredicateExpressions.ConditionalCast: LowerableExpression {
  func lowered(_ lowering: PredicateLowering) throws -> LoweredPart {
    throw lowering.unsupported(self, "objects are not cast; fetch the subentity")
  }
}

extension PredicateExpressions.ForceCast: LowerableExpression {
  func lowered(_ lowering: PredicateLowering) throws -> LoweredPart {
    throw lowering.unsupported(self, "objects are not cast; fetch the subentity")
  }
}

extension PredicateLowering {
  /// The entity of a class among those that objects of `known` may be of.
  fileprivate func entity(ofSubject type: Any.Type, like known: EntitySchema) -> EntitySchema? {
    schema.entities.first { entity in
      guard entity.hierarchyNumber == known.hierarchyNumber, let own = entity.managedObjectClass else {
        return false
      }
      if let standIn = own as? any KeyPathStandIn.Type { return standIn.subjectType == type }
      return own == type
    }
  }

  /// Whether an object is of the entity, or of one that inherits from it.
  fileprivate func isOf(_ entity: EntitySchema, _ object: FetchExpression) -> FetchPredicate {
    let names = entity.subtree.map { FetchExpression.entity(schema.entities[$0].name) }
    return .compare(FetchComparison(Self.path(object, "entity"), .in, .list(names)))
  }
}
