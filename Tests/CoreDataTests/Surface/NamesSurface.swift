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
