import CoreData
import Foundation

// What code for Core Data writes of coordinators, stores and containers, type-checked. Nothing is executed.

func useCoordinator(_ model: NSManagedObjectModel, _ url: URL, _ context: NSManagedObjectContext) async throws
{
  // surface: NSPersistentStoreCoordinator | NSPersistentStoreCoordinator.init(managedObjectModel:)
  // surface: NSPersistentStoreCoordinator.managedObjectModel | NSPersistentStoreCoordinator.name
  // surface: NSPersistentStoreCoordinator.persistentStores
  let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
  coordinator.name = "a"
  let stores: [NSPersistentStore] = coordinator.persistentStores
  // surface: NSPersistentStoreCoordinator.addPersistentStore(ofType:configurationName:at:options:)
  // surface: NSPersistentStoreCoordinator.addPersistentStore(type:configuration:at:options:)
  // surface: NSPersistentStoreCoordinator.addPersistentStore(with:completionHandler:)
  // surface: NSSQLiteStoreType | NSBinaryStoreType | NSInMemoryStoreType | NSMigratePersistentStoresAutomaticallyOption
  // surface: NSInferMappingModelAutomaticallyOption | NSReadOnlyPersistentStoreOption | NSPersistentStoreTimeoutOption
  // surface: NSSQLitePragmasOption | NSPersistentStoreRemoteChangeNotificationPostOptionKey
  // surface: NSIgnorePersistentStoreVersioningOption | NSPersistentHistoryTrackingKey | NSPersistentStoreFileProtectionKey
  // surface: NSPersistentStoreForceDestroyOption | NSBinaryStoreSecureDecodingClasses | NSPersistentStoreOSCompatibility
  // surface: NSBinaryStoreInsecureDecodingCompatibilityOption | NSCoreDataVersionNumber
  let names: [String] = [
    NSPersistentStoreForceDestroyOption, NSBinaryStoreSecureDecodingClasses, NSPersistentStoreOSCompatibility,
    NSBinaryStoreInsecureDecodingCompatibilityOption,
  ]
  let number: Double = NSCoreDataVersionNumber
  _ = (names, number)
  // surface: NSSQLiteAnalyzeOption | NSSQLiteManualVacuumOption | NSPersistentStoreConnectionPoolMaxSizeKey
  let options: [AnyHashable: Any] = [
    NSMigratePersistentStoresAutomaticallyOption: true, NSInferMappingModelAutomaticallyOption: true,
    NSReadOnlyPersistentStoreOption: false, NSPersistentStoreTimeoutOption: 5,
    NSSQLitePragmasOption: ["journal_mode": "DELETE"],
    NSPersistentStoreRemoteChangeNotificationPostOptionKey: true,
    NSIgnorePersistentStoreVersioningOption: false,
    NSPersistentHistoryTrackingKey: true, NSPersistentStoreFileProtectionKey: "none",
    NSSQLiteAnalyzeOption: true,
    NSSQLiteManualVacuumOption: true, NSPersistentStoreConnectionPoolMaxSizeKey: 4,
  ]
  let store = try coordinator.addPersistentStore(
    ofType: NSSQLiteStoreType, configurationName: nil, at: url, options: options)
  _ = try coordinator.addPersistentStore(type: .sqlite, configuration: nil, at: url, options: nil)
  coordinator.addPersistentStore(with: NSPersistentStoreDescription(url: url)) { description, error in
    if let error = error as NSError? { fatalError("\(description): \(error), \(error.userInfo)") }
  }
  // surface: NSPersistentStoreCoordinator.persistentStore(for:) | NSPersistentStoreCoordinator.url(for:)
  // surface: NSPersistentStoreCoordinator.setURL(_:for:) | NSPersistentStoreCoordinator.remove(_:)
  // surface: NSPersistentStoreCoordinator.migratePersistentStore(_:to:options:type:)
  // surface: NSPersistentStoreCoordinator.migratePersistentStore(_:to:options:withType:)
  if let found = coordinator.persistentStore(for: url),
    !coordinator.setURL(coordinator.url(for: found), for: found)
  {
    let moved = try coordinator.migratePersistentStore(
      found, to: url, options: nil, withType: NSBinaryStoreType)
    try coordinator.remove(coordinator.migratePersistentStore(moved, to: url, options: nil, type: .binary))
  }
  // surface: NSPersistentStoreCoordinator.destroyPersistentStore(at:ofType:options:)
  // surface: NSPersistentStoreCoordinator.destroyPersistentStore(at:type:options:)
  // surface: NSPersistentStoreCoordinator.replacePersistentStore(at:destinationOptions:withPersistentStoreFrom:sourceOptions:ofType:)
  // surface: NSPersistentStoreCoordinator.replacePersistentStore(at:destinationOptions:withPersistentStoreFrom:sourceOptions:type:)
  try coordinator.destroyPersistentStore(at: url, ofType: NSSQLiteStoreType, options: nil)
  try coordinator.destroyPersistentStore(at: url, type: .sqlite, options: nil)
  try coordinator.replacePersistentStore(
    at: url, destinationOptions: nil, withPersistentStoreFrom: url, sourceOptions: nil,
    ofType: NSSQLiteStoreType)
  try coordinator.replacePersistentStore(
    at: url, destinationOptions: nil, withPersistentStoreFrom: url, sourceOptions: nil, type: .sqlite)
  // surface: NSPersistentStoreCoordinator.metadata(for:) | NSPersistentStoreCoordinator.setMetadata(_:for:)
  // surface: NSPersistentStoreCoordinator.metadataForPersistentStore(ofType:at:)
  // surface: NSPersistentStoreCoordinator.metadataForPersistentStore(ofType:at:options:)
  // surface: NSPersistentStoreCoordinator.metadataForPersistentStore(type:at:options:)
  // surface: NSPersistentStoreCoordinator.setMetadata(_:forPersistentStoreOfType:at:)
  // surface: NSPersistentStoreCoordinator.setMetadata(_:forPersistentStoreOfType:at:options:)
  // surface: NSPersistentStoreCoordinator.setMetadata(_:type:at:options:)
  // surface: NSPersistentStoreCoordinator.cachedModelForPersistentStore(at:options:)
  // surface: NSStoreTypeKey | NSStoreUUIDKey | NSStoreModelVersionHashesKey | NSStoreModelVersionIdentifiersKey
  var metadata: [String: Any] = coordinator.metadata(for: store)
  metadata["a"] = metadata[NSStoreUUIDKey] ?? metadata[NSStoreTypeKey]
  coordinator.setMetadata(metadata, for: store)
  for found in [
    try NSPersistentStoreCoordinator.metadataForPersistentStore(ofType: nil, at: url),
    try NSPersistentStoreCoordinator.metadataForPersistentStore(
      ofType: NSSQLiteStoreType, at: url, options: nil),
    try NSPersistentStoreCoordinator.metadataForPersistentStore(type: .sqlite, at: url, options: nil),
  ] {
    _ = (found[NSStoreModelVersionHashesKey], found[NSStoreModelVersionIdentifiersKey])
    try NSPersistentStoreCoordinator.setMetadata(found, forPersistentStoreOfType: nil, at: url)
    try NSPersistentStoreCoordinator.setMetadata(
      found, forPersistentStoreOfType: NSSQLiteStoreType, at: url, options: nil)
    try NSPersistentStoreCoordinator.setMetadata(found, type: .sqlite, at: url, options: nil)
  }
  let cached: NSManagedObjectModel = try NSPersistentStoreCoordinator.cachedModelForPersistentStore(
    at: url, options: nil)
  // surface: NSPersistentStoreCoordinator.managedObjectID(forURIRepresentation:)
  // surface: NSPersistentStoreCoordinator.managedObjectID(for:) | NSPersistentStoreCoordinator.execute(_:with:)
  // surface: NSPersistentStoreCoordinator.perform(_:) | NSPersistentStoreCoordinator.performAndWait(_:)
  // surface: NSPersistentStoreCoordinator.lock() | NSPersistentStoreCoordinator.unlock()
  // surface: NSPersistentStoreCoordinator.tryLock()
  let ids: [NSManagedObjectID?] = [
    coordinator.managedObjectID(forURIRepresentation: url),
    coordinator.managedObjectID(for: "x-coredata://a"),
  ]
  let executed: Any = try coordinator.execute(NSFetchRequest<Entry>(entityName: "Entry"), with: context)
  coordinator.runOnQueue()
  coordinator.performAndWait { _ = coordinator.persistentStores }
  let count: Int = coordinator.performAndWait { 1 }
  let name: String = await coordinator.perform { "a" }
  try await coordinator.perform { throw CocoaError(.persistentStoreOpen) }
  coordinator.lockAndUnlock()
  _ = (stores, cached, ids, executed, count, name)
}

extension NSPersistentStoreCoordinator {
  func runOnQueue() { perform { _ = self.persistentStores } }

  func lockAndUnlock() {
    lock()
    if tryLock() { unlock() }
    unlock()
  }
}

func useStore(_ store: NSPersistentStore) {
  // surface: NSPersistentStore | NSPersistentStore.StoreType | NSPersistentStore.configurationName | NSPersistentStore.identifier
  // surface: NSPersistentStore.isReadOnly | NSPersistentStore.metadata | NSPersistentStore.options
  // surface: NSPersistentStore.persistentStoreCoordinator | NSPersistentStore.type | NSPersistentStore.url
  let texts: [String?] = [store.configurationName, store.identifier, store.type, store.url?.path]
  store.metadata["a"] = 1
  let coordinator: NSPersistentStoreCoordinator? = store.persistentStoreCoordinator
  let isReadOnly: Bool = store.isReadOnly
  let options: [AnyHashable: Any]? = store.options
  // surface: NSPersistentStore.StoreType.init(rawValue:) | NSPersistentStore.StoreType.binary | NSPersistentStore.StoreType.inMemory
  // surface: NSPersistentStore.StoreType.rawValue | NSPersistentStore.StoreType.sqlite
  let types: [NSPersistentStore.StoreType] = [.binary, .inMemory, .sqlite]
  _ = NSPersistentStore.StoreType(rawValue: types[0].rawValue)
  _ = (texts, coordinator, isReadOnly, options)
}

// surface: NSPersistentContainer | NSPersistentContainer.defaultDirectoryURL() | NSPersistentContainer.newBackgroundContext()
final class SharedContainer: NSPersistentContainer, @unchecked Sendable {
  override class func defaultDirectoryURL() -> URL {
    super.defaultDirectoryURL().appendingPathComponent("group")
  }
  override func newBackgroundContext() -> NSManagedObjectContext {
    let context = super.newBackgroundContext()
    context.name = "background"
    return context
  }
}

func runInBackground(_ container: NSPersistentContainer) {
  container.performBackgroundTask { context in
    _ = Entry(context: context)
    try? context.save()
  }
}

func useContainer(_ model: NSManagedObjectModel, _ url: URL) async throws {
  // surface: NSPersistentContainer.init(name:) | NSPersistentContainer.init(name:managedObjectModel:) | NSPersistentContainer.name
  // surface: NSPersistentContainer.managedObjectModel | NSPersistentContainer.persistentStoreCoordinator
  // surface: NSPersistentContainer.persistentStoreDescriptions | NSPersistentContainer.viewContext
  // surface: NSPersistentContainer.loadPersistentStores(completionHandler:) | NSPersistentContainer.performBackgroundTask(_:)
  let container = NSPersistentContainer(name: "Shop")
  let shared = SharedContainer(name: "Shop", managedObjectModel: model)
  container.persistentStoreDescriptions.first?.url = URL(fileURLWithPath: "/dev/null")
  container.loadPersistentStores { storeDescription, error in
    if let error = error as NSError? { fatalError("\(storeDescription): \(error)") }
  }
  container.loadPersistentStores(completionHandler: { (_, _) in })
  let context: NSManagedObjectContext = container.viewContext
  let (name, usedModel, coordinator) = (
    container.name, container.managedObjectModel, container.persistentStoreCoordinator
  )
  runInBackground(container)
  let count: Int = try await shared.performBackgroundTask { context in
    try context.count(for: NSFetchRequest<Entry>(entityName: "Entry"))
  }
  await shared.performBackgroundTask { context in context.reset() }
  // surface: NSPersistentStoreDescription | NSPersistentStoreDescription.init(url:) | NSPersistentStoreDescription.configuration
  // surface: NSPersistentStoreDescription.isReadOnly | NSPersistentStoreDescription.options
  // surface: NSPersistentStoreDescription.shouldAddStoreAsynchronously | NSPersistentStoreDescription.shouldInferMappingModelAutomatically
  // surface: NSPersistentStoreDescription.shouldMigrateStoreAutomatically | NSPersistentStoreDescription.timeout
  // surface: NSPersistentStoreDescription.type | NSPersistentStoreDescription.url | NSPersistentStoreDescription.setOption(_:forKey:)
  // surface: NSPersistentStoreDescription.sqlitePragmas | NSPersistentStoreDescription.setValue(_:forPragmaNamed:)
  let description = NSPersistentStoreDescription()
  description.type = NSInMemoryStoreType
  description.url = url
  description.configuration = "A"
  description.isReadOnly = false
  description.shouldAddStoreAsynchronously = true
  description.shouldInferMappingModelAutomatically = true
  description.shouldMigrateStoreAutomatically = true
  description.timeout = 3
  description.setOption(true as NSNumber, forKey: NSPersistentStoreRemoteChangeNotificationPostOptionKey)
  description.setValue("DELETE" as NSString, forPragmaNamed: "journal_mode")
  let (options, pragmas): ([String: NSObject], [String: NSObject]) = (
    description.options, description.sqlitePragmas
  )
  container.persistentStoreDescriptions = [description, NSPersistentStoreDescription(url: url)]
  _ = (context, name, usedModel, coordinator, count, options, pragmas)
}
