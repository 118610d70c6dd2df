import StrataCore

/// Gives many records new values straight in the store, without objects in a context. Contexts are notified when the application merges
/// the IDs, with `mergeChanges(fromRemoteContextSave:into:)`.
open class NSBatchUpdateRequest: NSPersistentStoreRequest {
  /// The entity's name.
  public let entityName: String
  private let givenEntity: NSEntityDescription?
  /// Which records; nil for all.
  open var predicate: NSPredicate?
  /// Whether records of subentities are updated too. Default true.
  open var includesSubentities = true
  /// What is answered. Default: the status.
  open var resultType = NSBatchUpdateRequestResultType.statusOnlyResultType
  /// What the properties become, by name: a value, `NSNull` for nil, an object or its ID for a to-one relationship, or an
  /// `NSExpression`.
  open var propertiesToUpdate: [AnyHashable: Any]?

  /// Updates records of the entity of that name.
  public init(entityName: String) {
    self.entityName = entityName
    givenEntity = nil
    super.init()
  }

  /// Updates records of `entity`.
  public init(entity: NSEntityDescription) {
    entityName = entity.name ?? ""
    givenEntity = entity
    super.init()
  }

  /// The entity. Traps when the request was made with a name and no model in use has the entity.
  open var entity: NSEntityDescription { givenEntity ?? .inUse(named: entityName) }

  open override var requestType: NSPersistentStoreRequestType { .batchUpdate }

  open override func copy(with zone: NSZone? = nil) -> Any {
    let copy =
      givenEntity.map { NSBatchUpdateRequest(entity: $0) } ?? NSBatchUpdateRequest(entityName: entityName)
    copy.predicate = predicate
    copy.includesSubentities = includesSubentities
    copy.resultType = resultType
    copy.propertiesToUpdate = propertiesToUpdate
    copy.affectedStores = affectedStores
    return copy
  }

  override func outcome(in context: NSManagedObjectContext) throws -> NSPersistentStoreResult {
    let lowering = FetchLowering(context: context)
    var values: [String: any Sendable] = [:]
    for (key, value) in propertiesToUpdate ?? [:] {
      guard let name = (key.base as? String) ?? (key.base as? NSPropertyDescription)?.name else {
        throw CoreDataError(.coreData, "Properties to update are named by strings, not by \(key.base).")
      }
      values[name] = try lowered(value, lowering)
    }
    var request = BatchUpdateRequest(
      entityName: entityName, predicate: try predicate.map(lowering.predicate), propertiesToUpdate: values)
    request.includesSubentities = includesSubentities
    request.resultType = resultType.core
    request.mergesIntoContext = false
    request.affectedStores = affectedStoreIdentifiers
    return NSBatchUpdateResult(try request.outcome(in: context))
  }

  private func lowered(_ value: Any, _ lowering: FetchLowering) throws -> any Sendable {
    switch value {
    case is NSNull: return AttributeValue.null
    case let expression as NSExpression:
      if expression.expressionType == .constantValue {
        return try lowered(expression.constantValue ?? NSNull(), lowering)
      }
      return try lowering.expression(expression)
    case let object as NSManagedObject: return object.objectID
    case let identifier as NSManagedObjectID: return identifier
    default:
      // As it was given, for transformers get it so, as from setValue. Sendable is a word without a witness: both existentials
      // have one layout. The request is carried out at once, on this thread.
      // `as Any`: the compiler would hand over what is in the existential, not the existential.
      return unsafeBitCast(value as Any, to: (any Sendable).self)
    }
  }
}

extension NSEntityDescription {
  /// The entity of that name in the newest model that a coordinator has taken.
  static func inUse(named name: String) -> NSEntityDescription {
    for coordinator in LivingCoordinators.all {
      if let entity = coordinator.managedObjectModel.entitiesByName[name] { return entity }
    }
    stop("No model in use has an entity named “\(name)”.")
  }
}
