import CoreData
import StrataCore

extension NSManagedObjectModel {
  /// The model of Core Data that a store of these classes has: it opens with the module CoreData what a ``ModelContainer`` of them has written, and the other way round. Its objects are plain
  /// `NSManagedObject`s.
  ///
  /// - Parameter managedObjectModel: A model whose entities are taken along.
  /// - Returns: Nil when the classes contradict themselves, or both have an entity of one name; why is written to standard error.
  public static func makeManagedObjectModel(
    for entityTypes: [any PersistentModel.Type], mergedWith managedObjectModel: NSManagedObjectModel? = nil
  ) -> NSManagedObjectModel? {
    makeManagedObjectModel(for: SwiftData.Schema(entityTypes), mergedWith: managedObjectModel)
  }

  /// The same of classes one by one.
  public static func makeManagedObjectModel(
    for entityTypes: any PersistentModel.Type..., mergedWith managedObjectModel: NSManagedObjectModel? = nil
  ) -> NSManagedObjectModel? {
    makeManagedObjectModel(for: SwiftData.Schema(entityTypes), mergedWith: managedObjectModel)
  }

  /// The same of a schema.
  public static func makeManagedObjectModel(
    for schema: SwiftData.Schema, mergedWith managedObjectModel: NSManagedObjectModel? = nil
  ) -> NSManagedObjectModel? {
    do {
      let model = try SchemaTranslation(schema) { _ in NSManagedObject.self }.model()
      guard let managedObjectModel else { return model }
      return try ManagedObjectModel.make(byMerging: [managedObjectModel, model])
    } catch {
      report("no model can be made of the classes", error)
      return nil
    }
  }
}
