import CoreData
import StrataCore
import Testing

@Suite("Enumerations")
struct EnumerationTests {
  // No `default`: that these compile is half of the test.

  private func name(_ type: NSAttributeType) -> String {
    switch type {
    case .undefinedAttributeType: "undefined"
    case .integer16AttributeType: "integer16"
    case .integer32AttributeType: "integer32"
    case .integer64AttributeType: "integer64"
    case .decimalAttributeType: "decimal"
    case .doubleAttributeType: "double"
    case .floatAttributeType: "float"
    case .stringAttributeType: "string"
    case .booleanAttributeType: "boolean"
    case .dateAttributeType: "date"
    case .binaryDataAttributeType: "binaryData"
    case .UUIDAttributeType: "uuid"
    case .URIAttributeType: "uri"
    case .transformableAttributeType: "transformable"
    case .objectIDAttributeType: "objectID"
    case .compositeAttributeType: "composite"
    }
  }

  private func name(_ rule: NSDeleteRule) -> String {
    switch rule {
    case .noActionDeleteRule: "noAction"
    case .nullifyDeleteRule: "nullify"
    case .cascadeDeleteRule: "cascade"
    case .denyDeleteRule: "deny"
    }
  }

  private func name(_ type: NSManagedObjectContextConcurrencyType) -> String {
    switch type {
    case .confinementConcurrencyType: "confinement"
    case .privateQueueConcurrencyType: "privateQueue"
    case .mainQueueConcurrencyType: "mainQueue"
    }
  }

  private func name(_ type: NSEntityMappingType) -> String {
    switch type {
    case .undefinedEntityMappingType: "undefined"
    case .customEntityMappingType: "custom"
    case .addEntityMappingType: "add"
    case .removeEntityMappingType: "remove"
    case .copyEntityMappingType: "copy"
    case .transformEntityMappingType: "transform"
    }
  }

  private func name(_ type: NSBatchUpdateRequestResultType) -> String {
    switch type {
    case .statusOnlyResultType: "statusOnly"
    case .updatedObjectIDsResultType: "objectIDs"
    case .updatedObjectsCountResultType: "count"
    }
  }

  private func name(_ type: NSBatchDeleteRequestResultType) -> String {
    switch type {
    case .resultTypeStatusOnly: "statusOnly"
    case .resultTypeObjectIDs: "objectIDs"
    case .resultTypeCount: "count"
    }
  }

  private func name(_ type: NSBatchInsertRequestResultType) -> String {
    switch type {
    case .statusOnly: "statusOnly"
    case .objectIDs: "objectIDs"
    case .count: "count"
    }
  }

  private func name(_ type: NSFetchedResultsChangeType) -> String {
    switch type {
    case .insert: "insert"
    case .delete: "delete"
    case .move: "move"
    case .update: "update"
    }
  }

  private func name(_ type: NSPersistentHistoryChangeType) -> String {
    switch type {
    case .insert: "insert"
    case .update: "update"
    case .delete: "delete"
    }
  }

  private func name(_ type: NSFetchIndexElementType) -> String {
    switch type {
    case .binary: "binary"
    case .rTree: "rTree"
    }
  }

  private func name(_ type: NSMergePolicyType) -> String {
    switch type {
    case .errorMergePolicyType: "error"
    case .mergeByPropertyStoreTrumpMergePolicyType: "mergeByPropertyStoreTrump"
    case .mergeByPropertyObjectTrumpMergePolicyType: "mergeByPropertyObjectTrump"
    case .overwriteMergePolicyType: "overwrite"
    case .rollbackMergePolicyType: "rollback"
    }
  }

  /// A policy as programs write them, with an initialiser of its own.
  // Unchecked, as its superclass is: the only stored property is a constant.
  private final class NotedPolicy: NSMergePolicy, @unchecked Sendable {
    let note: String

    init(_ note: String) {
      self.note = note
      super.init(merge: .overwriteMergePolicyType)
    }

    override init(merge type: NSMergePolicyType) {
      note = "none"
      super.init(merge: type)
    }
  }

  @Test("Merge policies are made of every type and say it")
  func mergePolicies() throws {
    let context = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
    for type in NSMergePolicyType.allCases {
      context.mergePolicy = NSMergePolicy(merge: type)
      let policy = try #require(context.mergePolicy as? NSMergePolicy)
      // Outside of the macro, which loses the name of the module.
      let core = "\(policy.StrataCore::mergeType)"
      #expect(policy.mergeType == type && core == name(type))
      let number = policy.StrataCore::mergeType.rawValue
      #expect(number == type.rawValue && NotedPolicy(merge: type).mergeType == type)
    }
    #expect(NotedPolicy("a").mergeType == .overwriteMergePolicyType && NotedPolicy("a").note == "a")
    #expect(NSMergePolicy.rollback.mergeType == .rollbackMergePolicyType)
  }

  @Test("Every case goes to StrataCore and comes back, under the same number")
  func bothWays() throws {
    let model = BirdStand.model()
    let bird = try #require(model.entitiesByName["Bird"])
    let attribute = try #require(bird.attributesByName["name"])
    for type in NSAttributeType.allCases {
      attribute.attributeType = type
      // Outside of the macro, which loses the name of the module.
      let coreattributeType = "\(attribute.StrataCore::attributeType)"
      #expect(attribute.attributeType == type && coreattributeType == name(type))
      let number = UInt(attribute.StrataCore::attributeType.rawValue)
      #expect(number == type.rawValue)
    }
    #expect(NSAttributeType.allCases.count == StrataCore.AttributeType.allCases.count)
    let column = NSExpressionDescription()
    column.expressionResultType = .dateAttributeType
    #expect(column.expressionResultType == .dateAttributeType && column.resultType == .date)

    let relationship = try #require(bird.relationshipsByName["site"])
    for rule in NSDeleteRule.allCases {
      relationship.deleteRule = rule
      // Outside of the macro, which loses the name of the module.
      let coredeleteRule = "\(relationship.StrataCore::deleteRule)"
      #expect(relationship.deleteRule == rule && coredeleteRule == name(rule))
    }
    for type in NSManagedObjectContextConcurrencyType.allCases {
      let context = NSManagedObjectContext(concurrencyType: type)
      // Outside of the macro, which loses the name of the module.
      let coreconcurrencyType = "\(context.StrataCore::concurrencyType)"
      #expect(context.concurrencyType == type && coreconcurrencyType == name(type))
    }
    let mapping = NSEntityMapping()
    for type in NSEntityMappingType.allCases {
      mapping.mappingType = type
      // Outside of the macro, which loses the name of the module.
      let coremappingType = "\(mapping.StrataCore::mappingType)"
      #expect(mapping.mappingType == type && coremappingType == name(type))
    }
    #expect(NSEntityMappingType.allCases.count == StrataCore.EntityMappingType.allCases.count)
    #expect(
      name(NSFetchedResultsChangeType.move) == "move"
        && name(NSPersistentHistoryChangeType.update) == "update")
    #expect(name(NSFetchIndexElementType.binary) == "binary")
  }

  @Test("A batch answers under the type that was asked for")
  func batches() throws {
    let context = try BirdStand().stocked()
    for type in NSBatchUpdateRequestResultType.allCases {
      let request = NSBatchUpdateRequest(entityName: "Bird")
      request.propertiesToUpdate = ["tally": 1]
      request.resultType = type
      let answer = try #require(try context.execute(request) as? NSBatchUpdateResult)
      #expect(answer.resultType == type && "\(answer.resultType.rawValue)" == "\(type.rawValue)")
      switch name(type) {
      case "statusOnly": #expect(answer.result as? Bool == true)
      case "objectIDs": #expect((answer.result as? [NSManagedObjectID])?.count == 5)
      default: #expect(answer.result as? Int == 5)
      }
    }
    let insert = NSBatchInsertRequest(entityName: "Bird", objects: [["name": "owl", "tally": 1]])
    insert.resultType = .count
    let inserted = try #require(try context.execute(insert) as? NSBatchInsertResult)
    #expect(name(inserted.resultType) == "count" && inserted.result as? Int == 1)
    let delete = NSBatchDeleteRequest(fetchRequest: NSFetchRequest<NSFetchRequestResult>(entityName: "Bird"))
    delete.resultType = .resultTypeCount
    let deleted = try #require(try context.execute(delete) as? NSBatchDeleteResult)
    #expect(name(deleted.resultType) == "count" && deleted.result as? Int == 6)
  }
}
