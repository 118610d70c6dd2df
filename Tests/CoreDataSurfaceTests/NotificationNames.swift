import CoreData

private func useNSNotificationName() {
  let _: NSNotification.Name = NSNotification.Name.NSManagedObjectContextDidMergeChangesObjectIDs
  let _: NSNotification.Name = NSNotification.Name.NSManagedObjectContextDidSave
  let _: NSNotification.Name = NSNotification.Name.NSManagedObjectContextDidSaveObjectIDs
  let _: NSNotification.Name = NSNotification.Name.NSManagedObjectContextObjectsDidChange
  let _: NSNotification.Name = NSNotification.Name.NSManagedObjectContextWillSave
  let _: NSNotification.Name = NSNotification.Name.NSPersistentStoreCoordinatorStoresDidChange
  let _: NSNotification.Name = NSNotification.Name.NSPersistentStoreCoordinatorStoresWillChange
  let _: NSNotification.Name = NSNotification.Name.NSPersistentStoreCoordinatorWillRemoveStore
  let _: NSNotification.Name = NSNotification.Name.NSPersistentStoreRemoteChange
  let _: NSNotification.Name = NSNotification.Name.NSUndoManagerCheckpoint
  let _: NSNotification.Name = NSNotification.Name.NSUndoManagerDidCloseUndoGroup
  let _: NSNotification.Name = NSNotification.Name.NSUndoManagerDidOpenUndoGroup
  let _: NSNotification.Name = NSNotification.Name.NSUndoManagerDidRedoChange
  let _: NSNotification.Name = NSNotification.Name.NSUndoManagerDidUndoChange
  let _: NSNotification.Name = NSNotification.Name.NSUndoManagerWillCloseUndoGroup
  let _: NSNotification.Name = NSNotification.Name.NSUndoManagerWillRedoChange
  let _: NSNotification.Name = NSNotification.Name.NSUndoManagerWillUndoChange
}
