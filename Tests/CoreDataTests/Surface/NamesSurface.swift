import CoreData
import Foundation

// Names of tier 1 that the other files use in passing only. The functions are type-checked, not run.

private func predicates(_ one: NSPredicate) -> NSPredicate {
  // surface: NSCompoundPredicate
  let both: NSCompoundPredicate = NSCompoundPredicate(andPredicateWithSubpredicates: [one, one])
  return both
}

private func results(_ context: NSManagedObjectContext) {
  let request = NSFetchRequest<NSManagedObject>(entityName: "Bird")
  request.resultType = .managedObjectResultType  // surface: NSFetchRequest.resultType
  // surface: NSFetchRequestResultType.init(rawValue:)
  request.resultType = NSFetchRequestResultType(rawValue: 1)
  let controller = NSFetchedResultsController(
    fetchRequest: request, managedObjectContext: context, sectionNameKeyPath: nil, cacheName: nil)
  // surface: NSFetchedResultsController.sections | NSFetchedResultsSectionInfo
  let sections: [any NSFetchedResultsSectionInfo]? = controller.sections
  _ = sections
}

private func validation(_ object: NSManagedObject, _ model: NSManagedObjectModel) throws {
  // surface: NSManagedObject.validateValue(_:forKey:) | NSManagedObject.setNilValueForKey(_:)
  var value: AnyObject? = NSNumber(value: 3)
  try object.validateValue(&value, forKey: "tally")
  object.setNilValueForKey("tally")
  // surface: NSManagedObjectModel.localizationDictionary
  model.localizationDictionary = ["Entity/Bird": "Vogel"]
  let words: [String: String]? = model.localizationDictionary
  // surface: NSMergeConflict.init(source:newVersion:oldVersion:cachedSnapshot:persistedSnapshot:)
  let conflict = NSMergeConflict(
    source: object, newVersion: 2, oldVersion: 1, cachedSnapshot: ["tally": 3], persistedSnapshot: nil)
  // surface: NSPersistentStoreModelVersionChecksumKey
  let key: String = NSPersistentStoreModelVersionChecksumKey
  _ = (words, conflict, key)
}

private func transformers() {
  // surface: NSSecureUnarchiveFromDataTransformer
  let transformer: ValueTransformer = NSSecureUnarchiveFromDataTransformer()
  ValueTransformer.setValueTransformer(transformer, forName: NSValueTransformerName("names"))
}

private let undoNames: [NSNotification.Name] = [
  .NSUndoManagerCheckpoint,  // surface: NSNotification.Name.NSUndoManagerCheckpoint
  .NSUndoManagerDidOpenUndoGroup,  // surface: NSNotification.Name.NSUndoManagerDidOpenUndoGroup
  .NSUndoManagerWillCloseUndoGroup,  // surface: NSNotification.Name.NSUndoManagerWillCloseUndoGroup
  .NSUndoManagerDidCloseUndoGroup,  // surface: NSNotification.Name.NSUndoManagerDidCloseUndoGroup
  .NSUndoManagerWillUndoChange,  // surface: NSNotification.Name.NSUndoManagerWillUndoChange
  .NSUndoManagerDidUndoChange,  // surface: NSNotification.Name.NSUndoManagerDidUndoChange
  .NSUndoManagerWillRedoChange,  // surface: NSNotification.Name.NSUndoManagerWillRedoChange
  .NSUndoManagerDidRedoChange,  // surface: NSNotification.Name.NSUndoManagerDidRedoChange
]
